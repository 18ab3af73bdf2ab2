//! Flags about what the server and its machine show of themselves: times of each request, and
//! metrics that are read while the run goes on.

use std::time::Duration;

use clap::{ArgAction, Args};
use servemark_plan::{ControlSpec, MetricsSource, TelemetrySpec};

use crate::argparse::Limit::Needs;
use crate::argparse::flags;
use crate::error::CliError;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: the server seen from inside")]
pub(crate) struct TelemetryArgs {
    /// Ask the server for its own times of each request, where it gives them only on request: vLLM's
    /// (started with --enable-per-request-metrics) come with the token counts of a stream. Times
    /// that a server gives anyway are always shown
    #[arg(long)]
    server_times: bool,
    /// Read the metrics of this address while the run goes on: the server's (auto is its /metrics)
    /// or those of an exporter, in Prometheus's text format; may be given several times. A user
    /// name, a password and a query of it are written nowhere
    #[arg(long, value_name = "URL", action = ArgAction::Append)]
    metrics_url: Vec<String>,
    /// How many seconds lie between two readings of --metrics-url, from 0.1 to 60; by default 1
    #[arg(long, value_name = "SECONDS", value_parser = python::float)]
    metrics_interval: Option<f64>,
}

flags! { TelemetryArgs {
    SERVER_TIMES = "--server-times";
    METRICS_URL = "--metrics-url";
    METRICS_INTERVAL = "--metrics-interval" => [Needs(Self::METRICS_URL)];
}}

impl TelemetryArgs {
    /// Sets in the control requests what is asked of the server about itself, and what is read.
    pub(crate) fn apply(&self, control: &mut ControlSpec) -> Result<(), CliError> {
        control.server_times = self.server_times;
        control.telemetry = self.telemetry()?;
        Ok(())
    }

    fn telemetry(&self) -> Result<Option<TelemetrySpec>, CliError> {
        if self.metrics_url.is_empty() {
            return Ok(None);
        }
        let sources = self.metrics_url.iter().map(|url| source(url)).collect::<Result<_, _>>()?;
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
}

fn source(url: &str) -> Result<MetricsSource, CliError> {
    if url == "auto" {
        return Ok(MetricsSource::Server);
    }
    let url = url.parse().map_err(|error| CliError::setting("--metrics-url", error))?;
    Ok(MetricsSource::Url(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(urls: &[&str], metrics_interval: Option<f64>) -> TelemetryArgs {
        let metrics_url = urls.iter().map(|url| (*url).to_owned()).collect();
        TelemetryArgs { server_times: true, metrics_url, metrics_interval }
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
        let told = r#""telemetry":{"sources":["server",{"url":"http://gpu:9400/metrics"}],"interval":0.1}"#;
        assert!(control.server_times && text.contains(told), "{text}");
        assert!(!text.contains("secret") && !format!("{control:?}").contains("secret"));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        refused(&args(&["ftp://gpu:9400/metrics"], None), "must begin with http://");
        refused(&args(&["gpu:9400/metrics"], None), "is not a URL");
        refused(&args(&["auto"], Some(0.01)), "must lie in 0.1 to 60");
    }
}
