//! Messages of vLLM's client before a run, printed on standard output as the client does.

use serde_json::Value;
use servemark::backends::BackendSpec;
use servemark::datasets::{DatasetSpec, VllmData};
use servemark::plan::BenchPlan;
use servemark::{Profiler, RunEvent};
use servemark_cli::{Parsed, PeerArguments};
use servemark_pyjson as pyjson;

/// Messages of vLLM's client about a plan.
#[derive(Debug)]
pub(crate) struct VllmMessages {
    /// Printed when the prompts are drawn.
    drawn: Vec<String>,
    /// Printed when everything is prepared.
    prepared: Vec<String>,
    /// Lines about the load.
    traffic: Vec<String>,
}

impl VllmMessages {
    /// Returns the messages about a command line in vLLM's dialect. There are none for an engine
    /// benchmark.
    pub(crate) fn of(parsed: &Parsed) -> Option<Self> {
        let plan = &parsed.plan;
        if !plan.server.is_server() {
            return None;
        }
        let BackendSpec::Vllm(spec) = &plan.wire else { return None };
        // vLLM's client looks at its flag alone.
        let sets_temperature = match &parsed.peer_arguments {
            Some(PeerArguments::Vllm(given)) => given.value("temperature") != Some("None"),
            _ => spec.common.extra_body.contains_key("temperature"),
        };
        let warning = (spec.dialect.generates() && !sets_temperature).then_some(NO_TEMPERATURE);
        let tries_first = plan.control.first_request.is_some();
        let skipped = (!tries_first).then_some("Skipping endpoint ready check.");
        let lines = warning.into_iter().chain([FIRST]).chain(skipped);
        Some(Self {
            drawn: trace(&plan.workload.dataset).into_iter().collect(),
            prepared: lines.map(str::to_owned).collect(),
            traffic: traffic(plan),
        })
    }

    /// Returns the lines that vLLM's client prints at an event; `None` if the event is Servemark's
    /// only.
    pub(crate) fn lines(&self, event: &RunEvent<'_>) -> Option<Vec<String>> {
        Some(match event {
            RunEvent::AskingForModel => {
                vec!["Model not specified, fetching first model from server...".to_owned()]
            }
            RunEvent::ModelFound { name, root } => {
                vec![format!("First model name: {name}, first model id: {root}")]
            }
            RunEvent::Drawn { .. } => self.drawn.clone(),
            RunEvent::Prepared => self.prepared.clone(),
            RunEvent::TryingFirst { patience } => {
                let seconds = patience.as_secs();
                vec![format!("Waiting for endpoint to become up in {seconds} seconds")]
            }
            RunEvent::WarmingUp { requests } => {
                vec![format!("Warming up with {requests} requests...")]
            }
            RunEvent::WarmedUp { .. } => vec!["Warmup run completed.".to_owned()],
            RunEvent::Measuring { .. } => self.traffic.clone(),
            // vLLM's client does not say that its profiler failed.
            RunEvent::Profiler(Profiler::Failed(..)) => return None,
            RunEvent::NotAligned { .. }
            | RunEvent::Aligning { .. }
            | RunEvent::FirstAnswered
            | RunEvent::Starting
            | RunEvent::Profiler(_) => vec![event.to_string()],
            _ => return None,
        })
    }
}

/// Returns the message about reading a trace.
fn trace(dataset: &DatasetSpec) -> Option<String> {
    let DatasetSpec::Vllm(spec) = dataset else { return None };
    let VllmData::TimedTrace(trace) = &spec.data else { return None };
    let labels = &trace.labels;
    Some(format!(
        "timed-trace: chunk_size: {}, sec_multiplier: {}, label_ts: \"{}\", label_input_length: \
         \"{}\", label_output_length: \"{}\", label_hash_ids: \"{}\"",
        trace.block_tokens,
        pyjson::general(trace.seconds),
        labels.timestamp,
        labels.input_length,
        labels.output_length,
        labels.hash_ids
    ))
}

fn traffic(plan: &BenchPlan) -> Vec<String> {
    let rate = plan.load.probes.map(|rate| pyjson::repr(rate.per_second()));
    let probes = rate.map(|rate| format!("Probe request rate: {rate} req/s"));
    load(plan).into_iter().chain(probes).collect()
}

fn load(plan: &BenchPlan) -> Vec<String> {
    let said = |key: &str| plan.echo.get(key).map_or_else(|| "None".to_owned(), python);
    if plan.load.arrivals.is_trace() {
        return vec!["Self timing is set, using the timestamps from the trace file.".to_owned()];
    }
    let mut lines = match plan.echo.get("ramp_up_strategy") {
        Some(Value::String(strategy)) => vec![
            format!("Traffic ramp-up strategy: {strategy}."),
            format!(
                "Will increase RPS from {} to {} RPS over the duration of the benchmark.",
                said("ramp_up_start_rps"),
                said("ramp_up_end_rps")
            ),
        ],
        _ => vec![format!("Traffic request rate: {}", said("request_rate"))],
    };
    let burstiness = said("burstiness");
    let process = if burstiness == "1.0" { "Poisson process" } else { "Gamma distribution" };
    lines.push(format!("Burstiness factor: {burstiness} ({process})"));
    lines.push(format!("Maximum request concurrency: {}", said("max_concurrency")));
    lines
}

/// Formats a value as Python does.
fn python(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => pyjson::literal(other),
    }
}

const NO_TEMPERATURE: &str = "WARNING: vllm bench serve no longer sets temperature==0 (greedy) in \
                              requests by default. The default will be determined on the server \
                              side and can be model/API specific. For the old behavior, include \
                              --temperature=0.";
const FIRST: &str = "Starting initial single prompt test run...";
