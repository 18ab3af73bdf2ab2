//! The engine that this program drove itself.

use std::time::Duration;

use servemark_core::{EngineFacts, Footer, Weights};

use super::style::unit;
use crate::table::Table;

/// What it is, and that its load is no part of the run.
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
