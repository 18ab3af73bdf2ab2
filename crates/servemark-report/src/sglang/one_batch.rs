//! Results of SGLang 0.5.23's one-batch benchmark: console lines, result line, row of the report,
//! and entry of the list for other tools.

mod report;

use std::fmt;

use serde_json::{Value, json};
use servemark_core::{JsonObject, RunLog};
use servemark_metrics::BatchScore;
use servemark_pyjson::{Text, round, to_string};

pub use self::report::OneBatchReport;

/// Settings of one batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneBatchRequest {
    /// Name of the run, given by the user.
    pub run_name: String,
    /// Number of output tokens per prompt.
    pub output_len: u32,
    /// Whether answers may end earlier.
    pub stops_at_eos: bool,
    /// Whether the prompts are recorded ones with individual lengths.
    pub replays: bool,
    /// Whether the server reports its own counts and figures: SGLang's does, vLLM's does not.
    pub is_sglang: bool,
    /// Folder or link of the profiler's traces, if it ran.
    pub profile_link: Option<String>,
}

/// Measured figures of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct OneBatchResult {
    /// Settings of the batch.
    pub wanted: OneBatchRequest,
    /// Number of prompts.
    pub batch_size: usize,
    /// Number of tokens per prompt; the mean if lengths differ.
    pub input_len: u64,
    /// Time until the last event, in seconds.
    pub latency: f64,
    /// Prompt tokens per second until every prompt had its first token.
    pub input_throughput: f64,
    /// Output tokens per second after every prompt had its first token.
    pub output_throughput: f64,
    /// Prompt and output tokens per second.
    pub overall_throughput: f64,
    /// Time until every prompt had its first token, in seconds.
    pub last_ttft: f64,
    /// Throughput of the last generation step as the server reports it, in tokens per second; −1 if
    /// unknown.
    pub last_gen_throughput: f64,
    /// Tokens per step of speculative decoding as the server reports them; −1 if unknown.
    pub acc_length: f64,
    /// Number of output tokens of all prompts.
    pub total_output_tokens: u64,
    /// Number of answers that ended early; `None` if the server reports no counts.
    pub num_early_stopped: Option<usize>,
    /// The part of the batch in which all prompts were generating, if there is one.
    pub steady: Option<OneBatchSteady>,
    /// Share of the prompt tokens that the server's cache held, from 0 to 1, if the server reports
    /// it.
    pub cache_hit_rate: Option<f64>,
}

/// The part of a batch in which all prompts were generating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneBatchSteady {
    /// Output tokens per second.
    pub output_throughput: f64,
    /// Duration, in seconds.
    pub seconds: f64,
}

impl OneBatchResult {
    /// Returns the result of a run of one batch; `None` if a prompt was not answered.
    pub fn of(request: OneBatchRequest, log: &RunLog) -> Option<Self> {
        let score = BatchScore::of(log)?;
        let batch_size = score.prompts;
        let input_len = score.input_tokens / batch_size as u64;
        // SGLang counts the mean length for every prompt, except for recorded ones.
        let input_tokens =
            if request.replays { score.input_tokens } else { input_len * batch_size as u64 };
        let is_whole = !request.stops_at_eos && !request.replays || !request.is_sglang;
        let window_tokens =
            if is_whole { score.output_tokens as f64 } else { score.tokens_after_all_started() };
        let states = log.footer().and_then(|footer| footer.server_info.as_ref());
        let listed = |key| states.and_then(|info| last_reported(info, key)).unwrap_or(-1.0);
        let steady = |window: servemark_metrics::BatchWindow| OneBatchSteady {
            output_throughput: window.output_throughput(),
            seconds: window.duration_s,
        };
        Some(Self {
            batch_size,
            input_len,
            latency: score.latency_s,
            input_throughput: rate(input_tokens as f64, score.last_ttft_s),
            output_throughput: rate(window_tokens, score.latency_s - score.last_ttft_s),
            overall_throughput: rate((input_tokens + score.output_tokens) as f64, score.latency_s),
            last_ttft: score.last_ttft_s,
            last_gen_throughput: listed("last_gen_throughput"),
            acc_length: listed("avg_spec_accept_length"),
            total_output_tokens: score.output_tokens,
            num_early_stopped: request.is_sglang.then_some(score.early_stopped),
            steady: score.steady.filter(|_| request.is_sglang).map(steady),
            cache_hit_rate: cache_hit_rate(log),
            wanted: request,
        })
    }

    fn requested(&self) -> u64 {
        self.batch_size as u64 * u64::from(self.wanted.output_len)
    }

    fn put_early_stops(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(stopped) = self.num_early_stopped.filter(|_| self.wanted.stops_at_eos) else {
            return Ok(());
        };
        let (total, requested) = (self.total_output_tokens, self.requested());
        writeln!(out, "total output tokens: {total} (requested {requested})")?;
        writeln!(out, "early-stopped requests: {stopped}/{}", self.batch_size)?;
        match self.steady {
            Some(OneBatchSteady { output_throughput, seconds }) => writeln!(
                out,
                "steady-state output throughput: {output_throughput:.2} tok/s over a \
                 {seconds:.2} s full-batch window"
            ),
            None => writeln!(
                out,
                "WARNING: no steady-state full-batch window (a request finished before the last \
                 one started decoding); steady-state metrics are n/a."
            ),
        }
    }

    /// Returns the line for the result file, with its newline.
    ///
    /// # Panics
    ///
    /// Never: a result is plain data.
    pub fn json_line(&self) -> String {
        let mut line = self.keys();
        let mut put = |key: &str, value: Value| line.insert(key.to_owned(), value);
        put("latency", json!(round(self.latency, 4)));
        put("input_throughput", json!(round(self.input_throughput, 2)));
        put("output_throughput", json!(round(self.output_throughput, 2)));
        put("overall_throughput", json!(round(self.overall_throughput, 2)));
        put("last_ttft", json!(round(self.last_ttft, 4)));
        put("last_gen_throughput", json!(round(self.last_gen_throughput, 2)));
        put("acc_length", json!(round(self.acc_length, 2)));
        put("total_output_tokens", json!(self.total_output_tokens));
        put("num_early_stopped", json!(self.num_early_stopped));
        let steady = self.steady;
        let throughput = steady.map(|steady| round(steady.output_throughput, 2));
        put("steady_state_output_throughput", json!(throughput));
        put("steady_state_window_s", json!(steady.map(|steady| round(steady.seconds, 4))));
        put("cache_hit_rate", json!(self.cache_hit_rate.map(|rate| round(rate, 4))));
        let line = to_string(&line, Text::Ascii).expect("a result is plain data");
        format!("{line}\n")
    }

    /// Returns the entry for the list that other tools read. The traces of the stages are
    /// distinguished by their names.
    pub fn entry(&self, model: &str, server_args: Option<&[String]>, traces: &[String]) -> Value {
        let trace = |words: &[&str]| self.trace(traces, words);
        let mut entry = JsonObject::new();
        entry.insert("model_path".to_owned(), json!(model));
        entry.extend(self.keys());
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        put("latency", json!(self.latency));
        put("input_throughput", json!(self.input_throughput));
        put("output_throughput", json!(self.output_throughput));
        put("overall_throughput", json!(self.overall_throughput));
        put("last_ttft", json!(self.last_ttft));
        put("last_gen_throughput", json!(self.last_gen_throughput));
        put("acc_length", json!(self.acc_length));
        put("profile_link_extend", json!(trace(&["extend", "prefill"])));
        put("profile_link_decode", json!(trace(&["decode"])));
        put("server_args", json!(server_args));
        entry.into()
    }

    fn keys(&self) -> JsonObject {
        let mut keys = JsonObject::new();
        let mut put = |key: &str, value: Value| keys.insert(key.to_owned(), value);
        put("run_name", json!(self.wanted.run_name));
        put("batch_size", json!(self.batch_size));
        put("input_len", json!(self.input_len));
        put("output_len", json!(self.wanted.output_len));
        keys
    }

    /// Returns the path of a stage's first trace by name, which is that of the first rank.
    fn trace(&self, traces: &[String], words: &[&str]) -> Option<String> {
        let folder = self.wanted.profile_link.as_ref()?;
        let is_of = |name: &&String| {
            let name = name.to_lowercase();
            words.iter().any(|word| name.contains(word))
        };
        let first = traces.iter().filter(is_of).min()?;
        Some(format!("{folder}/{first}"))
    }
}

/// Writes the result as the lines that SGLang's benchmark prints after each batch.
impl fmt::Display for OneBatchResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, requested) = (self.total_output_tokens, self.requested());
        if !self.wanted.stops_at_eos && self.wanted.is_sglang && total != requested {
            writeln!(
                out,
                "WARNING: generated {total} tokens but requested {requested}; the server clamped \
                 max_new_tokens or served fewer prompts, so throughput uses the actual count."
            )?;
        }
        writeln!(out, "batch size: {}", self.batch_size)?;
        writeln!(out, "input_len: {}", self.input_len)?;
        writeln!(out, "output_len: {}", self.wanted.output_len)?;
        writeln!(out, "latency: {:.2} s", self.latency)?;
        writeln!(out, "input throughput: {:.2} tok/s", self.input_throughput)?;
        if self.wanted.output_len != 1 {
            writeln!(out, "output throughput: {:.2} tok/s", self.output_throughput)?;
        }
        writeln!(out, "last_ttft: {:.2} s", self.last_ttft)?;
        writeln!(out, "last generation throughput: {:.2} tok/s", self.last_gen_throughput)?;
        if self.acc_length > 0.0 {
            writeln!(out, "acc_length: {:.2} ", self.acc_length)?;
        }
        if let Some(rate) = self.cache_hit_rate {
            writeln!(out, "cache hit rate: {rate:.4}")?;
        }
        self.put_early_stops(out)
    }
}

/// Returns a rate per second; zero if no time passed, as when the last token came together with the
/// first.
fn rate(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

/// Returns a value from the last of the server's schedulers that reports it.
fn last_reported(info: &Value, key: &str) -> Option<f64> {
    let states = info.get("internal_states")?.as_array()?;
    states.iter().rev().find_map(|state| state.get(key)?.as_f64())
}

fn cache_hit_rate(log: &RunLog) -> Option<f64> {
    let counters = log.footer()?.server_counters.as_ref()?;
    let before = counters.before.prefix_cache.unwrap_or_default();
    let after = counters.after.prefix_cache.unwrap_or_default();
    let queries = after.queries - before.queries;
    (queries > 0).then(|| (after.hits - before.hits) as f64 / queries as f64)
}
