//! The engine section of a run with an in-process engine.

use std::time::Duration;

use servemark_core::{EngineFacts, Footer, Weights};

use super::style::unit;
use crate::table::Table;

/// Writes the engine section. Its load time is not part of the run's duration.
pub(super) fn engine(table: &mut Table, engine: &EngineFacts, footer: Option<&Footer>) {
    table.section("Engine");
    table.row("engine", format!("{} {}", engine.name, engine.version));
    table.row(
        "weights",
        match engine.weights {
            Weights::Dummy => "dummy: random numbers, so that times are real and words are not",
            Weights::Real => "real",
        },
    );
    table.row("device", format!("{}, {}", engine.device, engine.dtype));
    table.row("batches", &engine.batch_policy);
    let load = Duration::from_nanos(engine.load_ns).as_secs_f64();
    table.row("load time", format!("{}, no part of the duration", unit(Some(load), "s")));
    if footer.is_some_and(|footer| footer.engine_ended.is_some()) {
        table.row("ended", "before the run did");
    }
}
