//! Our own flags, which every dialect has besides its peer's. They are never abbreviated.

mod connection;
mod run;
mod scope;
mod shards;
mod simulator;

pub(crate) use self::connection::ConnectionArgs;
pub(crate) use self::run::{RunArgs, parse_layout, parse_verdict};
pub(crate) use self::scope::check;
pub(crate) use self::shards::ShardArgs;
pub(crate) use self::simulator::{ModelNames, SimulatorArgs};
