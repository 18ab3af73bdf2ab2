//! The vocabulary of a benchmark run.
//!
//! This crate defines the types that the other crates exchange: a [`Transport`] sends each
//! [`Sample`] of a [`Session`], a [`Recorder`] keeps what was observed with its [`Stamp`]s, and the
//! result is a [`RequestRecord`] in a [`RunLog`]. The three traits that an extension implements or
//! calls, [`Dataset`], [`Transport`] and [`Tokenizer`], are defined here too.
//!
//! The crate knows no HTTP, no async runtime, no metric and no command line.

mod arrival;
mod clock;
mod counters;
mod dataset;
mod delta;
mod delta_log;
mod error;
mod image_size;
mod lazy_text;
mod media;
mod odd_count;
pub mod parallel;
mod printable;
mod progress;
mod ready_request;
mod record;
mod recorder;
mod run_log;
mod sample;
pub mod seconds;
mod server_times;
mod session;
mod tokenizer;
mod transport;
mod varint;

pub use arrival::{Arrival, ArrivalClock};
pub use clock::{Clock, MonotonicClock, Stamp, unix_now};
pub use counters::{
    CountedWork, DiffusionCounters, PrefixCacheCounters, ServerCounters, SpeculationCounters,
};
pub use dataset::{Dataset, DatasetError, DrawContext};
pub use delta::{CachedDetails, Delta, DeltaKind, Sink, Usage};
pub use delta_log::{DeltaLog, DeltaRow, DeltaRows};
pub use error::{ErrorKind, RequestError, with_causes};
pub use image_size::ImageSize;
pub use lazy_text::{LazyText, TextSource};
pub use media::{Audio, AudioSource, Media, Medium, MediumKind, SoundFile};
pub use odd_count::OddCount;
pub use printable::{printable, printable_lines};
pub use progress::{NoProgress, Progress, Task};
pub use ready_request::ReadyRequest;
pub use record::{
    Connection, Finish, Phase, Planned, RequestKey, RequestRecord, Resent, SocketFacts, Unprocessed,
};
pub use recorder::{Recorder, Stamped};
pub use run_log::{
    CertificateCheck, ClientCost, DataPart, EarlyStop, EngineFacts, Footer, Hardware, Header,
    HistogramReading, HostFacts, IfDamaged, IfTaken, LeftOut, MergeError, PieceCounts,
    PieceCountsIter, RankClock, RankFacts, RankMachine, RankMember, RankStart, Ranks, Retokenized,
    RunFacts, RunLog, RunLogError, RunLogReader, RunLogWriter, SeriesHead, SeriesKind, ShardCost,
    SharedPrefix, SimulatedParts, SimulatedTimes, Telemetry, TelemetryLine, TelemetrySample,
    TelemetrySource, Texts, Weights, check_run_log, first_free, is_stream, remove_run_log,
};
pub use sample::{JsonObject, Prompt, Sample};
pub use server_times::ServerTimes;
pub use session::{FollowUp, Session};
pub use tokenizer::{NoTokenizer, SpecialTokens, Tokenizer, TokenizerError};
pub use transport::Transport;
