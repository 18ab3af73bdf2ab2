//! Benchmarks LLM and embedding servers, and states how accurate its numbers are.
//!
//! This package is the program `servemark` (`cargo install servemark`) and the library that the
//! program is made of. A program that only uses the library leaves the program's parts out:
//!
//! ```toml
//! [dependencies]
//! servemark = { version = "0.1", default-features = false }
//! ```

pub use servemark_bench::*;
