//! `vllm bench throughput` and `vllm bench latency`.
//!
//! As with vLLM an engine is started and called, in a process of its own. If a server is named, it is
//! asked instead: everything is sent at once, or one batch after the other, and answers are not
//! streamed. In both cases the flags fill the arguments of `vllm bench serve`, of which the plan is
//! made; vLLM's own client draws the data sets of both commands in one place, too.

mod engine;
#[cfg_attr(not(feature = "engine"), path = "offline/absent.rs")]
mod here;
mod latency;
mod line;
mod throughput;

pub(crate) use self::latency::parse as latency;
pub(crate) use self::throughput::parse as throughput;

#[cfg(test)]
mod tests;
