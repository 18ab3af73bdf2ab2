//! Servemark's own flags, which every dialect has besides those of its peer. They cannot be
//! abbreviated.

mod command;
mod connection;
mod display;
mod run;
mod shards;
mod simulator;
mod stopping;
mod telemetry;
mod worker;

pub(crate) use self::command::{
    PLAIN_EXIT_CODES, RUN_EXIT_CODES, notes, online_notes, parse_command, with_exit_codes,
    with_online_notes,
};
pub(crate) use self::connection::{ConnectionArgs, ProtocolArgs, ReuseArgs, TrustArgs};
pub(crate) use self::display::{DisplayArgs, PlanOnlyArgs};
pub(crate) use self::run::{
    AskingArgs, JudgingArgs, OWN_TOLERANCE, RunArgs, parse_layout, parse_share, parse_verdict,
};
pub(crate) use self::shards::{ShardArgs, ThreadArgs};
pub(crate) use self::simulator::{ModelNames, NOT_SIMULATED, SimulatorArgs};
pub(crate) use self::stopping::StoppingArgs;
pub(crate) use self::telemetry::TelemetryArgs;
pub(crate) use self::worker::WorkerArgs;
#[cfg(feature = "engine")]
pub(crate) use self::worker::keep_usual_log;
