//! Multi-turn sessions.

use servemark_metrics::{SessionMetrics, TurnMetrics};

use super::latencies::grid;
use super::style::{absent, number};
use crate::table::Table;

pub(super) fn sessions(table: &mut Table, sessions: &SessionMetrics) {
    let SessionMetrics { begun, ended_early, turns_unsent, turns, .. } = sessions;
    table.section("Sessions");
    table.row("begun", begun);
    if *ended_early > 0 {
        table.row("ended early", format!("{ended_early} (turns never sent: {turns_unsent})"));
    }
    let labels: Vec<String> = turns.iter().map(turn_label).collect();
    let labels = || labels.iter().map(String::as_str);
    let ttfts: Vec<_> = labels().zip(turns.iter().map(|turn| &turn.ttft)).collect();
    grid(table, "TTFT by turn (ms)", &ttfts);
    table.grid("Prompts by turn", ["requests", "failed", "tokens", "cached"]);
    for (label, turn) in labels().zip(turns) {
        let cached =
            turn.cached_share.map_or_else(absent, |share| format!("{:.1} %", share * 100.0));
        let counts = [turn.requests, turn.failed].map(|count| count.to_string());
        let tokens = [number(turn.mean_prompt_tokens), cached];
        table.cells(label, counts.into_iter().chain(tokens).collect());
    }
}

fn turn_label(turn: &TurnMetrics) -> String {
    format!("turn {}{}", turn.turn, if turn.and_later { " on" } else { "" })
}
