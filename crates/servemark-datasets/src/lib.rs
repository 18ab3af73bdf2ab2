//! Every data set a benchmark draws its samples from.
