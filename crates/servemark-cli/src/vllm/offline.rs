//! `vllm bench throughput` and `vllm bench latency`.
//!
//! As with vLLM, an engine is started and called in a process of its own. If a server is named, it
//! is measured instead: all requests are sent at once, or one batch after the other, and answers
//! are not streamed. In both cases the flags fill the arguments of `vllm bench serve`, and the plan
//! is made of these; vLLM's own client also draws the data sets of both commands in one place.

mod engine;
#[cfg_attr(not(feature = "engine"), path = "offline/absent.rs")]
mod here;
mod latency;
mod line;
mod throughput;

pub(crate) use self::latency::{command as latency_command, parse as latency};
pub(crate) use self::throughput::{command as throughput_command, parse as throughput};

#[cfg(test)]
mod tests;
