//! One line for the start and one for the end of every request, in the format of SGLang's
//! `--print-requests`.

use std::io;

use servemark_core::{RequestRecord, RunLog, Stamp, printable};
use servemark_pyjson::{literal, quoted, repr};

use crate::{Report, ReportFormat};

/// One line for the start and one for the end of every request, warm-up included, in the order of
/// time. The lines are made from the log, so that nothing is printed during the measurement. The
/// random id is replaced by numbers of the run and the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestLines;

impl ReportFormat for RequestLines {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let run = Run::of(report.log);
        let requests = report.log.records().iter().enumerate();
        let mut lines: Vec<(Stamp, String)> =
            requests.flat_map(|(number, record)| run.lines(number, record)).collect();
        lines.sort_by_key(|(at, _)| *at);
        lines.iter().try_for_each(|(_, line)| writeln!(out, "{}", printable(line)))
    }
}

/// Values that all lines of a run share.
struct Run {
    started_unix_ns: u64,
    api_url: String,
    model: String,
    lora_name: &'static str,
    extra_body: String,
}

impl Run {
    fn of(log: &RunLog) -> Self {
        let header = log.header();
        let extra_body = header.plan.pointer("/wire/extra_body").filter(|body| body.is_object());
        let adapters = header.plan.pointer("/load/adapters").filter(|adapters| !adapters.is_null());
        Self {
            started_unix_ns: header.clock_started_unix_ns,
            api_url: quoted(&format!("{}{}", header.facts.target, header.facts.api_path)),
            model: quoted(&header.facts.model),
            lora_name: if adapters.is_some() { LEFT_OUT } else { "None" },
            extra_body: extra_body.map_or_else(|| "{}".to_owned(), literal),
        }
    }

    fn lines(&self, number: usize, record: &RequestRecord) -> [(Stamp, String); 2] {
        let (rid, started) = (self.rid(number), record.started());
        let start = format!(
            "rid={rid} time={} message=\"request start\" request_func_input=\"{}\"",
            self.time(started),
            self.input(record),
        );
        let end = format!(
            "rid={rid} time={} time_delta={} message=\"request end\" output=\"{}\"",
            self.time(record.ended),
            seconds(started, record.ended),
            output(record),
        );
        [(started, start), (record.ended, end)]
    }

    fn rid(&self, number: usize) -> String {
        let run = self.started_unix_ns;
        let [time, low, high] = [run >> 32, (run >> 16) & 0xffff, run & 0xffff];
        format!("{time:08x}-{low:04x}-{high:04x}-0000-{number:012x}")
    }

    /// Returns the Unix time in seconds. Whole seconds are added last, because a float of the
    /// nanoseconds since the epoch would lose precision.
    fn time(&self, at: Stamp) -> String {
        let nanos = self.started_unix_ns.saturating_add(at.as_nanos());
        let fraction = (nanos % 1_000_000_000) as f64 / 1e9;
        repr((nanos / 1_000_000_000) as f64 + fraction)
    }

    /// Formats the request. The log has neither images nor adapters, only whether there were any.
    fn input(&self, record: &RequestRecord) -> String {
        let Self { api_url, model, lora_name, extra_body, .. } = self;
        let planned = record.planned;
        let images = if planned.vision_tokens > 0 { LEFT_OUT } else { "None" };
        format!(
            "RequestFuncInput(prompt='...', api_url={api_url}, prompt_len={}, output_len={}, \
             model={model}, lora_name={lora_name}, image_data={images}, extra_request_body={extra_body}, \
             timestamp=None, routing_key=None)",
            planned.prompt_tokens, planned.output_tokens,
        )
    }
}

/// Placeholder for a value that is too long to print or not in the log.
const LEFT_OUT: &str = "'...'";

/// Formats the answer.
fn output(record: &RequestRecord) -> String {
    let (usage, started) = (record.usage.unwrap_or_default(), record.started());
    let by_server = usage.prompt_tokens.filter(|&tokens| tokens > 0);
    let pieces: Vec<_> = record.pieces().filter(|(row, _)| row.bytes > 0).collect();
    let ttft = pieces.first().map_or_else(|| repr(0.0), |(row, _)| seconds(started, row.at));
    let gaps: Vec<String> =
        pieces.windows(2).map(|pair| seconds(pair[0].0.at, pair[1].0.at)).collect();
    let chunks: Vec<String> = pieces.iter().skip(1).map(|(_, text)| quoted(text)).collect();
    let error = record.outcome.as_ref().err().map_or("", |error| &error.message);
    let [success, latency, tokens] = outcome(record);
    format!(
        "RequestFuncOutput(generated_text='...', success={success}, latency={latency}, \
         ttft={ttft}, tpot=None, itl=[{}], text_chunks=[{}], prompt_len={}, error={}, \
         output_len={tokens}, start_time={}, cached_tokens={}, cached_tokens_details={}, \
         spec_accept_length=0.0, spec_cap_length=0.0, spec_block_accept_length=0.0, \
         spec_cap_lens_histogram=[])",
        gaps.join(", "),
        chunks.join(", "),
        by_server.unwrap_or(record.planned.prompt_tokens),
        quoted(error),
        seconds(Stamp::ZERO, started),
        usage.cached_tokens.unwrap_or_default(),
        literal(&super::cache::details(record)),
    )
}

/// Returns success, latency and output tokens; the last two are zero for a failure.
fn outcome(record: &RequestRecord) -> [String; 3] {
    if !record.is_success() {
        return ["False".to_owned(), repr(0.0), "0".to_owned()];
    }
    let counted = record.usage.and_then(|usage| usage.completion_tokens);
    let tokens = counted.unwrap_or(record.planned.output_tokens);
    ["True".to_owned(), seconds(record.started(), record.ended), tokens.to_string()]
}

fn seconds(earlier: Stamp, later: Stamp) -> String {
    repr(later.since(earlier).as_nanos() as f64 / 1e9)
}
