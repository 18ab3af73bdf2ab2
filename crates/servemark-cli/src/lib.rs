//! The peers' command lines, spoken: arguments in, a benchmark plan out.
