//! Flags about what the server and its machine show of themselves: times of each request, and
//! metrics that are read while the run goes on.

use std::num::NonZero;
use std::time::Duration;

use clap::{ArgAction, Args};
use servemark_core::Hardware;
use servemark_plan::{ControlSpec, MetricsSource, TelemetrySpec};

use crate::argparse::Limit::{Needs, OnlyWhere};
use crate::argparse::{Flag, flags};
use crate::error::CliError;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: the server seen from inside")]
pub(crate) struct TelemetryArgs {
    /// Ask the server for its own times of each request if it gives them only on request: those of
    /// vLLM (started with --enable-per-request-metrics) come with the token counts of a stream.
    /// Times that a server gives anyway are always shown
    #[arg(long)]
    server_times: bool,
    /// After the measurement, send this number of the measured prompts again, twice each, after a
    /// prefix that no cache holds, and conclude from the times to the first token whether the
    /// measured prompts came out of the server's prefix cache (--fail-on contaminated); from 8 to
    /// 500, without a number 32
    #[arg(
        long,
        value_name = "PROMPTS",
        num_args = 0..=1,
        default_missing_value = "32",
        value_parser = clap::value_parser!(u32).range(8..=500)
    )]
    cache_audit: Option<u32>,
    /// Read the metrics of this address while the run goes on: the server's (auto is its /metrics)
    /// or those of an exporter, in Prometheus's text format; may be given several times. A user
    /// name, a password and a query of it are written nowhere
    #[arg(long, value_name = "URL", action = ArgAction::Append)]
    metrics_url: Vec<String>,
    /// Seconds between two readings of --metrics-url and --gpu-metrics, from 0.1 to 60; by default
    /// 1
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    metrics_interval: Option<f64>,
    /// Read the GPUs while the run goes on: their use, memory, power, energy, clocks and
    /// temperature. auto reads NVIDIA's GPUs of this machine if there are any, nvml warns if there
    /// are none, and the URL of an exporter (DCGM, AMD) reads those of another machine
    #[arg(long, value_name = "auto|off|nvml|URL", default_value = "off")]
    gpu_metrics: String,
    /// Number of GPUs that serve the model, for throughput and cost per GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    gpus: Option<u32>,
    /// Price of one GPU for an hour, in any currency, for the cost of a million tokens
    #[arg(long, value_name = "PRICE", value_parser = python::float)]
    price_per_gpu_hour: Option<f64>,
}

flags! { TelemetryArgs {
    SERVER_TIMES = "--server-times";
    CACHE_AUDIT = "--cache-audit";
    METRICS_URL = "--metrics-url";
    METRICS_INTERVAL = "--metrics-interval" => [OnlyWhere(
        |given| given.is(Self::METRICS_URL) || given.is_requested(Self::GPU_METRICS),
        "--metrics-url and --gpu-metrics",
    )];
    GPU_METRICS = "--gpu-metrics";
    GPUS = "--gpus";
    PRICE_PER_GPU_HOUR = "--price-per-gpu-hour" => [Needs(Self::GPUS)];
}}

impl TelemetryArgs {
    /// Sets in the control requests what is asked of the server about itself, and what is read.
    pub(crate) fn apply(&self, control: &mut ControlSpec) -> Result<(), CliError> {
        control.server_times = self.server_times;
        control.cache_audit = self.cache_audit.and_then(NonZero::new);
        control.telemetry = self.telemetry()?;
        control.hardware = self.hardware()?;
        Ok(())
    }

    fn telemetry(&self) -> Result<Option<TelemetrySpec>, CliError> {
        let urls = self.metrics_url.iter().map(|url| source(Self::METRICS_URL, url));
        let gpus = self.gpu_source().transpose();
        let sources = urls.chain(gpus).collect::<Result<Vec<_>, _>>()?;
        if sources.is_empty() {
            return Ok(None);
        }
        let mut spec = TelemetrySpec::new(sources);
        if let Some(seconds) = self.metrics_interval {
            if !(0.1..=60.0).contains(&seconds) {
                let why = format!("must lie in 0.1 to 60, not {seconds}");
                return Err(CliError::setting("--metrics-interval", why));
            }
            spec.interval = Duration::from_secs_f64(seconds);
        }
        Ok(Some(spec))
    }

    fn gpu_source(&self) -> Result<Option<MetricsSource>, CliError> {
        match self.gpu_metrics.as_str() {
            "off" => Ok(None),
            "auto" => Ok(Some(MetricsSource::NvmlIfPresent)),
            "nvml" => Ok(Some(MetricsSource::Nvml)),
            url => gpu_exporter(url).map(Some),
        }
    }

    fn hardware(&self) -> Result<Hardware, CliError> {
        let price = self.price_per_gpu_hour;
        if let Some(price) = price.filter(|price| !(price.is_finite() && *price > 0.0)) {
            let why = format!("must be a number above 0, not {price}");
            return Err(CliError::setting(Self::PRICE_PER_GPU_HOUR, why));
        }
        Ok(Hardware { gpus: self.gpus, price_per_gpu_hour: price })
    }
}

fn source(flag: Flag, url: &str) -> Result<MetricsSource, CliError> {
    if url == "auto" {
        return Ok(MetricsSource::Server);
    }
    let url = url.parse().map_err(|error| CliError::setting(flag, error))?;
    Ok(MetricsSource::Url(url))
}

/// Returns the exporter at an address. An error lists what else the flag takes, because the text may
/// be a misspelt name.
fn gpu_exporter(url: &str) -> Result<MetricsSource, CliError> {
    let url = url.parse().map_err(|error| {
        let why = format!("must be auto, off, nvml or the URL of an exporter: {error}");
        CliError::setting(TelemetryArgs::GPU_METRICS, why)
    })?;
    Ok(MetricsSource::Url(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(urls: &[&str], metrics_interval: Option<f64>) -> TelemetryArgs {
        let metrics_url = urls.iter().map(|url| (*url).to_owned()).collect();
        TelemetryArgs {
            server_times: true,
            cache_audit: Some(16),
            metrics_url,
            metrics_interval,
            gpu_metrics: "off".to_owned(),
            gpus: None,
            price_per_gpu_hour: None,
        }
    }

    #[track_caller]
    fn refused(args: &TelemetryArgs, expected: &str) {
        let error = args.apply(&mut ControlSpec::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn addresses_become_sources_without_their_secrets() {
        let mut control = ControlSpec::default();
        let urls = ["auto", "http://me:secret@gpu:9400/metrics?key=k"];
        args(&urls, Some(0.1)).apply(&mut control).unwrap();
        let text = serde_json::to_string(&control).unwrap();
        let reported = r#""telemetry":{"sources":["server",{"url":"http://gpu:9400/metrics"}],"interval":0.1}"#;
        assert!(control.server_times && text.contains(reported), "{text}");
        assert!(!text.contains("secret") && !format!("{control:?}").contains("secret"));
    }

    #[test]
    fn gpus_are_a_source_and_have_a_price() {
        let requested = |gpu_metrics: &str, price_per_gpu_hour| {
            let gpu_metrics = gpu_metrics.to_owned();
            let args =
                TelemetryArgs { gpu_metrics, gpus: Some(8), price_per_gpu_hour, ..args(&[], None) };
            let mut control = ControlSpec::default();
            args.apply(&mut control).map(|()| control)
        };
        let control = requested("nvml", Some(2.5)).unwrap();
        assert_eq!(control.telemetry, Some(TelemetrySpec::new(vec![MetricsSource::Nvml])));
        let text = serde_json::to_string(&control).unwrap();
        assert!(text.contains(r#""hardware":{"gpus":8,"price_per_gpu_hour":2.5}"#), "{text}");
        assert_eq!(requested("off", None).unwrap().telemetry, None);
        let error = requested("off", Some(-1.0)).unwrap_err().to_string();
        assert!(error.contains("must be a number above 0, not -1"), "{error}");
        for wrong in ["cuda", "http://me:secret@gpu:99999/metrics"] {
            let error = requested(wrong, None).unwrap_err().to_string();
            assert!(error.contains("--gpu-metrics must be auto, off, nvml or the URL"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        refused(&args(&["ftp://gpu:9400/metrics"], None), "must begin with http://");
        refused(&args(&["gpu:9400/metrics"], None), "is not a URL");
        refused(&args(&["http://127.0.0.1:99999/m"], None), "no number from 1 to 65535");
        refused(&args(&["http://u:p@:80/x"], None), "names no host");
        refused(&args(&["auto"], Some(0.01)), "must lie in 0.1 to 60");
    }
}
