//! Replaces flags of older versions of SGLang's serving benchmark by those of today.

use std::ffi::OsString;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::args::{DatasetArgs, LoadArgs, SharedPrefixArgs, TraceArgs};
use crate::argparse::split_value;
use crate::error::CliError;
use crate::python;
use crate::sweep::RequestedSweep;

/// A command line that has only flags of today.
#[derive(Debug, Default)]
pub(crate) struct ReplacedArgs {
    /// Arguments of the command line.
    pub(crate) args: Vec<OsString>,
    /// One warning for each replaced flag, which names the replacement.
    pub(crate) warnings: Vec<String>,
}

/// Replaces the flags of older versions, which are recognised only by their whole names. `--multi`
/// becomes a sweep with the same prompts at each rate.
pub(crate) fn replace_old_flags(
    args: impl IntoIterator<Item = OsString>,
) -> Result<ReplacedArgs, CliError> {
    let (mut renewed, mut is_multi, mut range) = (ReplacedArgs::default(), false, None);
    let mut args = args.into_iter().collect::<Vec<_>>().into_iter().peekable();
    while let Some(arg) = args.next() {
        match arg.to_str().map(split_value) {
            Some((MULTI, None)) => is_multi = true,
            Some((RANGE, attached)) => {
                let attached = attached.map(str::to_owned);
                range = Some(attached.map_or_else(|| following(&mut args), Ok)?);
            }
            Some((NO_WARMUP, None)) => {
                let none = format!("{}=0", LoadArgs::WARMUP_REQUESTS);
                renewed.exchange(NO_WARMUP, &[&none]);
            }
            Some((ROUTING, None)) => {
                let key = SharedPrefixArgs::GSP_SEND_ROUTING_KEY;
                renewed.exchange(ROUTING, &[key.name()]);
            }
            Some((flag @ "--random-image-num-images", attached)) => {
                renewed.rename(flag, DatasetArgs::IMAGE_COUNT.name(), attached);
            }
            Some((flag @ "--random-image-resolution", attached)) => {
                renewed.rename(flag, DatasetArgs::IMAGE_RESOLUTION.name(), attached);
            }
            Some((DATASET, Some("random-image"))) => renewed.exchange(OLD_IMAGE, &[&image()]),
            Some((DATASET, None)) if args.next_if(|next| next == "random-image").is_some() => {
                renewed.exchange(OLD_IMAGE, &[&image()]);
            }
            Some((TIMESTAMPS, attached)) => match attached.map_or_else(
                || {
                    args.next_if(|next| truth(next.to_str()).is_some())
                        .and_then(|next| truth(next.to_str()))
                },
                |value| truth(Some(value)),
            ) {
                Some(true) => renewed.exchange(&format!("{TIMESTAMPS} true"), &[TIMESTAMPS]),
                Some(false) => renewed.exchange(&format!("{TIMESTAMPS} false"), &[]),
                None => renewed.args.push(arg),
            },
            _ => renewed.args.push(arg),
        }
    }
    if is_multi {
        let rates = rates(range.as_deref().unwrap_or(USUAL_RANGE))?;
        let rates: Vec<String> = rates.iter().map(i64::to_string).collect();
        let rates = format!("request-rate={}", rates.join(","));
        let sweep = [RequestedSweep::SWEEP.name(), &rates];
        let same = RequestedSweep::SWEEP_SAME_PROMPTS.name();
        renewed.exchange(MULTI, &[&sweep[..], &[same]].concat());
    } else if range.is_some() {
        return Err(CliError::no_effect(RANGE, format!("without {MULTI}")));
    }
    Ok(renewed)
}

impl ReplacedArgs {
    /// Replaces a flag by one that takes the same value, which may be attached to it.
    fn rename(&mut self, old: &str, new: &str, attached: Option<&str>) {
        let value = attached.map(|value| format!("={value}")).unwrap_or_default();
        self.exchange(old, &[&format!("{new}{value}")]);
    }

    fn exchange(&mut self, old: &str, new: &[&str]) {
        let instead = if new.is_empty() { "it is left out".to_owned() } else { new.join(" ") };
        self.warnings
            .push(format!("{old} is of older versions of SGLang's client; here: {instead}"));
        self.args.extend(new.iter().map(OsString::from));
    }
}

fn following(args: &mut Peekable<IntoIter<OsString>>) -> Result<String, CliError> {
    let value = args.next_if(|next| !next.to_string_lossy().starts_with('-'));
    let missing =
        || CliError::ExpectedArgument { flag: RANGE.to_owned(), expected: "one argument" };
    Ok(value.ok_or_else(missing)?.to_string_lossy().into_owned())
}

fn truth(text: Option<&str>) -> Option<bool> {
    let text = text?;
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    is("true").then_some(true).or_else(|| is("false").then_some(false))
}

/// Parses the value of `--request-rate-range`. Three numbers are the first rate, the end of the
/// range, which is not a rate itself, and the step; any other count of numbers is a list of rates.
fn rates(text: &str) -> Result<Vec<i64>, CliError> {
    let wrong = |why: &str| CliError::setting(RANGE, format!("{why}, got {}", python::repr(text)));
    let whole = || wrong("takes START,STOP,STEP or a list of rates, all of them whole numbers");
    let numbers = text.split(',').map(|number| python::int(number).ok());
    let numbers: Vec<i64> = numbers.collect::<Option<_>>().ok_or_else(whole)?;
    let rates = match numbers[..] {
        [_, _, ..=0] => return Err(wrong("needs a step above 0")),
        [start, stop, step] => {
            let next = |rate: &i64| rate.checked_add(step);
            let rates = std::iter::successors(Some(start), next);
            rates.take_while(|rate| *rate < stop).take(MOST_RATES + 1).collect()
        }
        _ => numbers,
    };
    match rates.len() {
        0 => Err(wrong("holds no rate")),
        1..=MOST_RATES => Ok(rates),
        _ => Err(wrong("holds more than 1000 rates")),
    }
}

/// Flag of older versions that asks for a run at each rate of `--request-rate-range`.
const MULTI: &str = "--multi";
const NO_WARMUP: &str = "--disable-warmup";
const RANGE: &str = "--request-rate-range";
const DATASET: &str = DatasetArgs::DATASET_NAME.name();
const ROUTING: &str = "--gsp-send-routing-id";
/// Image data set as older versions of the client name it; `image()` returns its name of today.
const OLD_IMAGE: &str = "--dataset-name random-image";
fn image() -> String {
    format!("{DATASET}=image")
}
/// Flag that has become a switch.
const TIMESTAMPS: &str = TraceArgs::USE_TRACE_TIMESTAMPS.name();

/// Default of `--request-rate-range` in older versions.
const USUAL_RANGE: &str = "2,34,2";

/// Maximum number of rates. More of them are taken for a mistake, because each is a run.
const MOST_RATES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<ReplacedArgs, String> {
        replace_old_flags(line.split_whitespace().map(Into::into))
            .map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(line: &str, expected: &str, exchanged: usize) {
        let ReplacedArgs { args, warnings } = read(line).unwrap();
        let args: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args.join(" "), expected, "{line}");
        assert_eq!(warnings.len(), exchanged, "{warnings:?}");
    }

    #[test]
    fn flags_of_older_versions_become_those_of_today() {
        check("--seed 1 --tag true", "--seed 1 --tag true", 0);
        check("--disable-warmup --seed 1", "--warmup-requests=0 --seed 1", 1);
        check("--gsp-send-routing-id", "--gsp-send-routing-key", 1);
        check("--use-trace-timestamps True --seed 1", "--use-trace-timestamps --seed 1", 1);
        check("--use-trace-timestamps=false --seed 1", "--seed 1", 1);
        check("--use-trace-timestamps --seed 1", "--use-trace-timestamps --seed 1", 0);
        check("--dataset-name random-image --seed 1", "--dataset-name=image --seed 1", 1);
        check("--dataset-name=random-image", "--dataset-name=image", 1);
        check("--dataset-name image", "--dataset-name image", 0);
        check("--random-image-num-images 2", "--image-count 2", 1);
        check("--random-image-resolution=720p", "--image-resolution=720p", 1);
    }

    #[test]
    fn several_rates_become_a_sweep_of_the_same_prompts() {
        let sweep = |rates: &str| format!("--sweep request-rate={rates} --sweep-same-prompts");
        check("--multi", &sweep("2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32"), 1);
        check("--multi --request-rate-range 4,17,4", &sweep("4,8,12,16"), 1);
        check("--request-rate-range=1,8 --multi", &sweep("1,8"), 1);
    }

    #[test]
    fn what_is_no_range_of_rates_is_refused() {
        let refused = |line: &str| read(line).unwrap_err();
        assert!(refused("--request-rate-range 1,2").contains("no effect without --multi"));
        assert!(refused("--multi --request-rate-range 1,9,0").contains("a step above 0"));
        assert!(refused("--multi --request-rate-range 9,1,1").contains("holds no rate"));
        assert!(refused("--multi --request-rate-range a,b").contains("START,STOP,STEP"));
        assert!(refused("--multi --request-rate-range 1,99999,1").contains("more than 1000"));
        assert!(refused("--multi --request-rate-range --seed 1").contains("expected one argument"));
    }
}
