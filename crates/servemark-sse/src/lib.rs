//! A sans-IO server-sent-events parser: bytes in, events out.
