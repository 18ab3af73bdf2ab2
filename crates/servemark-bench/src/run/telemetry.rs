//! Reads metrics of the server and its machine beside the measurement.

use std::sync::Arc;

use servemark_client::Target;
use servemark_plan::{MetricsSource, TelemetrySpec};
use servemark_telemetry::{Sampler, SamplerSource, SamplerSpec};

use super::run_log_sink::RunLogSink;
use super::system::Job;
use crate::observer::RunEvent;

/// Starts to read the metrics that the plan names. A source that cannot be read is reported and
/// leaves a gap; nothing about metrics ends a run.
pub(super) fn start(job: &Job<'_>, target: &Target, sink: &RunLogSink) -> Option<Sampler> {
    let spec = job.plan.control.telemetry.as_ref()?;
    let sources = sources(job, spec, target);
    if sources.is_empty() {
        return None;
    }
    let context = job.context.clone();
    let problems = move |source: &str, reason: &str| {
        let reason = format!("{source}: {reason}; this leaves a gap in their series");
        context.emit(&RunEvent::Missed { what: "read metrics", reason });
    };
    let spec = SamplerSpec::new(sources, spec.interval);
    let started = Sampler::start(spec, job.clock.clock, sink.telemetry(), Arc::new(problems));
    started.map_err(|error| report_missed(job, &error)).ok()
}

/// Reads every source a last time.
pub(super) fn finish(job: &Job<'_>, sampler: Option<Sampler>) {
    if let Some(Err(error)) = sampler.map(Sampler::finish) {
        report_missed(job, &error);
    }
}

fn sources(job: &Job<'_>, spec: &TelemetrySpec, target: &Target) -> Vec<SamplerSource> {
    let source = |source: &MetricsSource| match source {
        MetricsSource::Url(url) => {
            SamplerSource::at(url).map_err(|error| report_missed(job, &error)).ok()
        }
        // That there are no GPUs is no fault, unlike a build that cannot read them.
        MetricsSource::NvmlIfPresent if cfg!(feature = "nvml") => nvml().ok(),
        MetricsSource::Nvml | MetricsSource::NvmlIfPresent => {
            nvml().map_err(|error| report_missed(job, &error)).ok()
        }
        MetricsSource::Server => Some(SamplerSource::of_server(target)),
    };
    let mut sources: Vec<SamplerSource> = Vec::new();
    for source in spec.sources.iter().filter_map(source) {
        if sources.iter().any(|other| other.is_same(&source)) {
            report_missed(job, &format!("{} is given twice, and read once", source.name()));
        } else {
            sources.push(source);
        }
    }
    sources
}

#[cfg(feature = "nvml")]
fn nvml() -> Result<SamplerSource, String> {
    let reader = servemark_telemetry::NvmlReader::load()?;
    Ok(SamplerSource::of_devices(Box::new(reader)))
}

#[cfg(not(feature = "nvml"))]
fn nvml() -> Result<SamplerSource, String> {
    Err("this program was built without the feature nvml; the program servemark has it".to_owned())
}

fn report_missed(job: &Job<'_>, error: &impl ToString) {
    let what = "read metrics beside the measurement";
    job.context.emit(&RunEvent::Missed { what, reason: error.to_string() });
}
