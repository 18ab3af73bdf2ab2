//! Parses `--random-range-ratio` and similar flags: one share for prompts and outputs, or one for
//! each.

use serde_json::Value;
use servemark_datasets::Spread;

use crate::argparse::Flag;
use crate::error::CliError;
use crate::number::refused;
use crate::python;

/// Maximum deviations of prompts and outputs from their mean lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spreads {
    pub(super) input: Spread,
    pub(super) output: Spread,
}

/// Reads `0.3` or `{"input": 0.3, "output": 0.5}`.
pub(super) fn spreads(flag: Flag, text: &str) -> Result<Spreads, CliError> {
    let share = |share| Spread::new(share).map_err(refused(flag));
    if let Ok(both) = python::float(text) {
        let both = share(both)?;
        return Ok(Spreads { input: both, output: both });
    }
    let shares: Value = serde_json::from_str(text).map_err(|_| malformed(flag, text))?;
    let [input, output] =
        ["input", "output"].map(|key| shares[key].as_f64().ok_or_else(|| malformed(flag, text)));
    Ok(Spreads { input: share(input?)?, output: share(output?)? })
}

fn malformed(flag: Flag, text: &str) -> CliError {
    let rendered = python::repr(text);
    let why =
        format!("must be a number or {{\"input\": NUMBER, \"output\": NUMBER}}, not {rendered}");
    CliError::setting(flag, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATIO: Flag = Flag::new("--ratio");

    #[track_caller]
    fn check(text: &str, input: f64, output: f64) {
        let spreads = spreads(RATIO, text).unwrap();
        assert_eq!((spreads.input.share(), spreads.output.share()), (input, output));
    }

    #[test]
    fn one_share_is_for_both() {
        check("0.5", 0.5, 0.5);
        check(r#"{"input": 0.25, "output": 0}"#, 0.25, 0.0);
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["1.0", "x", r#"{"input": 0.5}"#, "[1]", r#"{"input": 0.1, "output": 1}"#] {
            let error = spreads(RATIO, text).unwrap_err().to_string();
            assert!(error.starts_with("--ratio "), "{error}");
        }
    }
}
