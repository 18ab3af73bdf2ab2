//! The flag about requests in flight when a signal ends the program.

use std::time::Duration;

use clap::Args;

use crate::argparse::flags;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(crate) struct StoppingArgs {
    /// Seconds that requests in flight have to finish after SIGTERM or SIGHUP; tables and files are
    /// then written as after Ctrl-C, and the exit code is 143 or 129
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_grace)]
    pub(crate) grace: Duration,
}

flags! { StoppingArgs {
    GRACE = "--grace";
}}

/// Parses a number of seconds from 0 to one day.
fn parse_grace(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=DAY).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected a number of seconds from 0 to {DAY}, got {text:?}"))
}

const DAY: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_is_at_most_a_day() {
        assert_eq!(parse_grace("0"), Ok(Duration::ZERO));
        assert_eq!(parse_grace("2.5"), Ok(Duration::from_millis(2500)));
        for wrong in ["-1", "1e9", "inf", "nan", "soon"] {
            let error = parse_grace(wrong).unwrap_err();
            assert!(error.starts_with("expected a number of seconds from 0 to 86400"), "{error}");
        }
    }
}
