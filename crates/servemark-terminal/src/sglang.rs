//! Messages of SGLang's client before its table, printed on standard output as the client does.

use std::sync::Mutex;

use servemark::RunEvent;
use servemark::datasets::DatasetSpec;
use servemark::plan::BenchPlan;
use servemark_cli::Namespace;

use crate::screen::lock;

/// Messages of SGLang's client about a run.
#[derive(Debug)]
pub(crate) struct SglangMessages {
    /// Arguments that are printed before the data set's figures, with the model and a simulator's
    /// address once these are known.
    arguments: Mutex<Namespace>,
    warms_up: bool,
}

impl SglangMessages {
    /// Returns the messages about a plan with these arguments, which are completed when the run has
    /// resolved them.
    pub(crate) fn new(arguments: &Namespace, plan: &BenchPlan) -> Self {
        let warms_up = plan.load.warmup.requests > 0;
        Self { arguments: Mutex::new(arguments.clone()), warms_up }
    }

    /// Returns the lines that SGLang's client prints at an event; `None` if the event is
    /// Servemark's only.
    pub(crate) fn lines(&self, event: &RunEvent<'_>) -> Option<Vec<String>> {
        Some(match event {
            RunEvent::Simulating { url } => {
                self.settle(|arguments| arguments.with_base_url(url));
                return None;
            }
            RunEvent::ModelFound { name, .. } => {
                self.settle(|arguments| {
                    if arguments.has_model() {
                        arguments.clone()
                    } else {
                        arguments.with_model(name)
                    }
                });
                return None;
            }
            RunEvent::Drawn { summary, .. } => {
                let arguments = lock(&self.arguments);
                let mut lines = vec![arguments.to_string(), String::new()];
                lines.extend(lines_of(summary.to_string().trim_end()));
                lines
            }
            RunEvent::Prepared if !self.warms_up => vec![warming_up(0), warmed_up(0)],
            RunEvent::WarmingUp { requests } => vec![warming_up(*requests)],
            RunEvent::WarmedUp { requests, .. } => vec![warmed_up(*requests)],
            RunEvent::Replaying { dataset: DatasetSpec::Mooncake(_), .. }
            | RunEvent::WaitingForServer { .. }
            | RunEvent::ServerReady { .. }
            | RunEvent::Profiler(_) => lines_of(&event.to_string()),
            _ => return None,
        })
    }

    fn settle(&self, change: impl FnOnce(&Namespace) -> Namespace) {
        let mut arguments = lock(&self.arguments);
        *arguments = change(&arguments);
    }
}

/// Messages of SGLang's other benchmarks about their prompts and the server's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BenchMessages {
    /// The one-batch benchmark, which prints the model that a running server serves.
    OneBatch,
    /// The offline benchmark of an in-process engine.
    Offline {
        /// Number of prompts of a warm-up that is left out. SGLang's client draws them all the same
        /// and prints their tokens.
        skipped: usize,
    },
}

impl BenchMessages {
    /// Returns the lines that the benchmark prints at an event; `None` if the event is Servemark's
    /// only.
    pub(crate) fn lines(self, event: &RunEvent<'_>) -> Option<Vec<String>> {
        match (self, event) {
            (Self::Offline { skipped: skipped @ 1.. }, RunEvent::Drawn { summary, .. }) => {
                let mut lines = lines_of(summary.to_string().trim_end());
                lines.push(format!("#Input tokens: {}", skipped * 256));
                lines.push(format!("#Output tokens: {}", skipped * 16));
                Some(lines)
            }
            (_, RunEvent::Drawn { summary, .. }) => Some(lines_of(summary.to_string().trim_end())),
            (Self::OneBatch, RunEvent::FillingCache { .. } | RunEvent::CacheFilled) => {
                Some(vec![event.to_string()])
            }
            (Self::OneBatch, RunEvent::ModelFound { name, .. }) => Some(vec![
                format!("Found model: {name}"),
                format!("Loading tokenizer for {name}..."),
            ]),
            _ => None,
        }
    }
}

fn warming_up(requests: usize) -> String {
    RunEvent::WarmingUp { requests }.to_string()
}

/// SGLang prints this line even if warm-up requests failed.
fn warmed_up(requests: usize) -> String {
    RunEvent::WarmedUp { requests, failed: 0 }.to_string()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
