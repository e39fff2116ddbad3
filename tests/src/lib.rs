//! Black-box tests over the real binaries
