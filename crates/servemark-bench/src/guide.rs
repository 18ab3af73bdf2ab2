//! Three whole programs. Each is an example of the package, so it is compiled as it stands here.
//!
//! # A tool inside Tokio
//!
//! Runs a benchmark beside other tasks, reports its progress, stops it at a time limit, and prints
//! the p99 TTFT.
//!
//! ```no_run
#![doc = include_str!("../examples/in_tokio.rs")]
//! ```
//!
//! # Own parts through a sweep and a gate
//!
//! A wire dialect, a data set, a latency and a report of the program, in a sweep over two request
//! rates, each judged by objectives.
//!
//! ```no_run
#![doc = include_str!("../examples/own_parts.rs")]
//! ```
//!
//! # Single crates alone
//!
//! Parses, decodes, stamps and scores a recorded stream without a socket, a runtime or the facade.
//!
//! ```
#![doc = include_str!("../examples/single_crates.rs")]
//! ```
