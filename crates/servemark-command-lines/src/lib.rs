//! Compares what `servemark` does for a command line with what the peer's own client did.
//!
//! A [`Peer`] describes how the results of one peer are read. The scripts in
//! `fixtures/record/command_lines/` draw command lines and run the peer's client. Each [`Observed`]
//! run is reduced to a [`Line`], which is stored in `fixtures/command_lines/`. [`replay`] runs the
//! lines through `servemark` and returns a [`Tally`] of the differences, some of which are
//! [`Argued`].

mod argued;
mod compare;
mod line;
mod neutral;
mod observed;
mod own;
mod peer;
mod recording;
mod replay;

pub use argued::Argued;
pub use compare::{ComparedPart, Difference};
pub use line::{Line, Outcome, ResultFile, SentRequest};
pub use observed::{Observed, ObservedRequest};
pub use own::Own;
pub use peer::{Aisbench, Evalscope, ONE_BATCH_LINES, Peer, Sglang, Vllm, from_name};
pub use recording::{read_lines, write_lines};
pub use replay::{Replayed, Tally, replay};
