//! Records in, numbers out: latencies, percentiles, throughput and goodput under a chosen policy.
