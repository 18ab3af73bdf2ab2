//! Refuses engines in a program that is built without them.

use super::line::Calls;
use crate::error::CliError;
use crate::offline::Offline;
use crate::own::WorkerArgs;

pub(super) fn with_engine(
    _: Offline,
    _: &WorkerArgs,
    _: Option<&str>,
    _: &Calls,
) -> Result<Offline, CliError> {
    Err(CliError::Together("this program is built without engines: name a server (--base-url)"))
}
