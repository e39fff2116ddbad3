//! The _meta terminal-card convention of ACP: encode, tolerant decode, the card board
