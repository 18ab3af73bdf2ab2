//! The part of a run under its load, by four definitions.
//!
//! | module | whose | where it begins and ends |
//! |---|---|---|
//! | `plateau` | vLLM's Rust client | the first and the last moment at the limit on requests in flight |
//! | `steady_state` | SGLang's `steady_state_serving` | the longest part near the observed peak of requests in flight |
//! | `stage` | AISBench | the part at the limit on requests in flight, by one of two rules |
//! | `settled` | Servemark | what remains without a change of level of latencies, output and load, at any load |

mod plateau;
mod settled_run;
mod stage;
mod steady_state;

pub use self::plateau::{Plateau, PlateauSpec, PlateauWindow};
pub use self::settled_run::{
    Level, SettledFigure, SettledPart, SettledRun, SettledStatus, SettlingOf, Shift,
};
pub(crate) use self::stage::span_s as stage_span_s;
pub use self::stage::{
    NoStage, StableCounting, StableRule, StableStage, Stage, StageQuantity, StageRates, StageSpec,
    StageStatistic,
};
pub use self::steady_state::{ConcurrencyRatio, SteadyState};
