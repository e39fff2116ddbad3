//! Terminal bytes: incremental decoding, bounded output, live pacing, plain-text rendering
