//! Every wire dialect as a pure codec: a [`Sample`] in, a [`WireRequest`] out; events in, deltas
//! out.
//!
//! A dialect knows no socket, no clock and no runtime, so it is tested with byte strings. Adding
//! one means implementing [`Backend`] and [`Decoder`] in a module of its own and naming it in
//! [`BackendSpec`].
//!
//! [`Sample`]: servemark_core::Sample

mod backend;

pub use backend::{Backend, Decoder, Flow, WireRequest};
