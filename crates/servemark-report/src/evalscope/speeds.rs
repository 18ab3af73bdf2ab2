//! Output speed by prompt length, the report of `speed_benchmark`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use servemark_metrics::{RequestScore, statistics};
use servemark_pyjson::{general, repr};

use super::EvalscopeStyle;
use super::number_format::round;
use crate::boxes::{Align, Boxed, Frame};

/// Mean output speed of the requests with prompts of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    prompt_tokens: u32,
    tokens_per_s: f64,
}

pub(super) fn speeds(scores: &[RequestScore<'_>]) -> Vec<Speed> {
    let mut by_prompt: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for score in scores.iter().filter(|score| score.success && score.latency_s > 0.0) {
        let speed = score.output_token_count() as f64 / score.latency_s;
        by_prompt.entry(score.prompt_tokens).or_default().push(speed);
    }
    let mean = |(prompt_tokens, speeds): (u32, Vec<f64>)| {
        let tokens_per_s = round(statistics::mean(&speeds)?, 2);
        Some(Speed { prompt_tokens, tokens_per_s })
    };
    by_prompt.into_iter().filter_map(mean).collect()
}

/// Returns the table. Memory is zero, because a client over HTTP cannot read the memory of an
/// accelerator.
pub(super) fn table(speeds: &[Speed], style: EvalscopeStyle) -> String {
    let is_first = style == EvalscopeStyle::V1_0;
    let (frame, align) =
        if is_first { (Frame::PLAIN, Align::Center) } else { (Frame::OUTLINE_GRID, Align::Point) };
    let number = if is_first { repr } else { general };
    let row = |speed: &Speed| {
        vec![speed.prompt_tokens.to_string(), number(speed.tokens_per_s), number(0.0)]
    };
    let table = Boxed::new(HEADS.map(|head| (head, align)));
    table.with_rows(speeds.iter().map(row)).text(&frame)
}

/// Returns the content of `speed_benchmark.json`.
pub(super) fn json(speeds: &[Speed]) -> Value {
    let [prompt, speed, memory] = HEADS;
    let row = |of: &Speed| json!({prompt: of.prompt_tokens, speed: of.tokens_per_s, memory: 0.0});
    speeds.iter().map(row).collect()
}

const HEADS: [&str; 3] = ["Prompt Tokens", "Speed(tokens/s)", "GPU Memory(GB)"];
