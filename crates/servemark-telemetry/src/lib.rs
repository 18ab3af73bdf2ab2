//! Series of servers and their machines, read while a run goes on.
//!
//! [`Readings`] turns the text that a server or an exporter shows under `/metrics` into readings of
//! named series; [`Sampler`] reads several such sources periodically, on threads of its own.
//! Quantities that several engines have under different names get one name, by the vocabulary of
//! this crate.
//!
//! The crate knows no run: what it reads goes to a function of the caller, line by line.

mod exposition;
mod frequent_lines;
mod known_text;
mod message;
#[cfg(feature = "nvml")]
mod nvml;
mod opener;
mod readings;
mod sampler;
mod sampling;
mod source_reader;
mod vocabulary;

#[cfg(feature = "nvml")]
pub use nvml::NvmlReader;
pub use readings::Readings;
pub use sampler::{
    DeviceReader, LineSink, ProblemSink, ReadingOccasion, Sampler, SamplerError, SamplerSource,
    SamplerSpec,
};
