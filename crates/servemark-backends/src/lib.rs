//! Every wire dialect as a pure codec: a sample in, a request out; bytes in, deltas out.
