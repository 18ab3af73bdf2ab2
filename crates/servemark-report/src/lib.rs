//! Numbers in, text and files out: our tables and each peer's exact layout.
