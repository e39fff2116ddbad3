//! The desktop program: the chat window
