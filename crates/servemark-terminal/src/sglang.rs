//! What SGLang's client says before its table, in its words and on standard output as there.

use std::sync::{Mutex, PoisonError};

use servemark::News;
use servemark::datasets::DatasetSpec;
use servemark::plan::BenchPlan;
use servemark_cli::Namespace;

/// The words of SGLang's client about a run.
#[derive(Debug)]
pub(crate) struct SglangVoice {
    /// The arguments that are printed before the data set's numbers, with the model once it is known.
    arguments: Mutex<Namespace>,
    warms_up: bool,
}

impl SglangVoice {
    /// The words about a plan whose arguments these are when they are settled.
    pub(crate) fn new(arguments: &Namespace, plan: &BenchPlan) -> Self {
        let warms_up = plan.load.warmup.requests > 0;
        Self { arguments: Mutex::new(arguments.clone()), warms_up }
    }

    /// The lines that SGLang's client says where this happens; nothing where it happens to us alone.
    pub(crate) fn lines(&self, news: &News<'_>) -> Option<Vec<String>> {
        Some(match news {
            News::ModelFound { name, .. } => {
                self.name_model(name);
                return None;
            }
            News::Drawn { summary, .. } => {
                let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
                let mut lines = vec![arguments.to_string(), String::new()];
                lines.extend(lines_of(summary.to_string().trim_end()));
                lines
            }
            News::Prepared if !self.warms_up => vec![warming_up(0), warmed_up(0)],
            News::WarmingUp { requests } => vec![warming_up(*requests)],
            News::WarmedUp { requests, .. } => vec![warmed_up(*requests)],
            News::Replaying { dataset: DatasetSpec::Mooncake(_), .. }
            | News::WaitingForServer { .. }
            | News::ServerReady { .. }
            | News::Profiler(_) => lines_of(&news.to_string()),
            _ => return None,
        })
    }

    fn name_model(&self, name: &str) {
        let mut arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        if !arguments.has_model() {
            *arguments = arguments.with_model(name);
        }
    }
}

fn warming_up(requests: usize) -> String {
    News::WarmingUp { requests }.to_string()
}

/// It says the same if some of them failed.
fn warmed_up(requests: usize) -> String {
    News::WarmedUp { requests, failed: 0 }.to_string()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
