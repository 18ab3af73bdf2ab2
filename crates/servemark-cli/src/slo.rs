//! Our flags for objectives, in every dialect of a serving benchmark: requirements on a run, or a
//! search for the largest load that meets them.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use servemark_metrics::{Goal, Objective};
use servemark_page::GridFormat;
use servemark_plan::{
    BenchPlan, Effort, Grain, SearchError, SearchRange, SloSearchSpec, SloSpec, SloTier,
};

use crate::ResultsFolder;
use crate::argparse::{Flag, Values, flags};
use crate::error::CliError;
use crate::number::time_of;
use crate::parsed::Parsed;
use crate::python;

/// A search for the largest load that meets its objectives.
#[derive(Clone, Debug)]
pub struct SloRuns {
    /// Specification of the search.
    pub spec: SloSearchSpec,
    /// The command line without the search, with the settings that all runs share.
    pub first: Parsed,
    /// Folder of the run logs; `None` if no logs are written.
    pub folder: Option<ResultsFolder>,
    /// Files into which the table of all loads is written, with their formats.
    pub files: Vec<(PathBuf, GridFormat)>,
}

/// Values of our flags for objectives and searches.
#[derive(Debug, Default)]
pub(crate) struct SloArgs {
    objectives: Vec<Objective>,
    /// Objectives with a name, which only a search may have.
    tiers: Vec<SloTier>,
    confidence: Option<f64>,
    setting: Option<String>,
    start: Option<f64>,
    bounds: Option<(f64, f64)>,
    precision: Option<f64>,
    requests: Option<NonZeroUsize>,
    duration: Option<Duration>,
    rounds: Option<NonZeroU32>,
    /// The last flag of the command line that configures a search.
    last: Option<Flag>,
}

flags! { SloArgs {
    SLO = "--slo";
    SLO_BOUNDS = "--slo-bounds";
    SLO_CONFIDENCE = "--slo-confidence";
    SLO_DURATION = "--slo-duration";
    SLO_PRECISION = "--slo-precision";
    SLO_REQUESTS = "--slo-requests";
    SLO_ROUNDS = "--slo-rounds";
    SLO_SEARCH = "--slo-search";
    SLO_START = "--slo-start";
}}

impl SloArgs {
    pub(crate) fn take(&mut self, values: Values<'_>) -> Result<(), CliError> {
        let flag = values.flag;
        let refuse = |why: String| CliError::Value { flag: flag.to_string(), why };
        match flag {
            Self::SLO => {
                for value in values.all()? {
                    let (name, list) = split_name(&value);
                    let objectives =
                        Objective::list(list).map_err(|error| refuse(error.to_string()))?;
                    match name {
                        Some(name) => {
                            self.tiers.push(SloTier { name: name.to_owned(), objectives });
                        }
                        None => self.objectives.extend(objectives),
                    }
                }
                return Ok(());
            }
            Self::SLO_CONFIDENCE => {
                self.confidence = Some(share(&values.one()?).map_err(refuse)?);
                return Ok(());
            }
            Self::SLO_SEARCH => {
                self.setting = Some(values.one()?);
                return Ok(());
            }
            Self::SLO_BOUNDS => self.bounds = Some(bounds(&values.one()?).map_err(refuse)?),
            Self::SLO_DURATION => {
                let seconds = positive(&values.one()?).map_err(refuse)?;
                self.duration = Some(time_of(seconds).map_err(refuse)?);
            }
            Self::SLO_PRECISION => self.precision = Some(share(&values.one()?).map_err(refuse)?),
            Self::SLO_REQUESTS => {
                self.requests = Some(parse_count(&values.one()?).map_err(refuse)?);
            }
            Self::SLO_ROUNDS => self.rounds = Some(parse_count(&values.one()?).map_err(refuse)?),
            _ => self.start = Some(positive(&values.one()?).map_err(refuse)?),
        }
        self.last = Some(flag);
        Ok(())
    }

    pub(crate) fn is_search(&self) -> bool {
        self.setting.is_some()
    }

    /// Returns the objectives of each run; `None` if there are none. Refuses flags of a search
    /// without `--slo-search`, and other flags for objectives without an objective.
    pub(crate) fn gate(&self) -> Result<Option<SloSpec>, CliError> {
        if let (Some(flag), None) = (self.last, &self.setting) {
            return Err(CliError::no_effect(flag, format!("without {}", Self::SLO_SEARCH)));
        }
        if !self.tiers.is_empty() && self.setting.is_none() {
            let why = "names of objectives (NAME=OBJECTIVES) are for --slo-search; leave them out";
            return Err(CliError::setting(Self::SLO, why));
        }
        if !self.objectives.is_empty() {
            return Ok(Some(self.slo()));
        }
        if !self.tiers.is_empty() {
            return Ok(None);
        }
        match (&self.setting, self.confidence) {
            (Some(_), _) => Err(CliError::Together("--slo-search needs objectives (--slo)")),
            (None, Some(_)) => {
                Err(CliError::no_effect(Self::SLO_CONFIDENCE, format!("without {}", Self::SLO)))
            }
            (None, None) => Ok(None),
        }
    }

    fn slo(&self) -> SloSpec {
        let slo = SloSpec::new(self.objectives.iter().copied());
        match self.confidence {
            Some(confidence) => slo.with_confidence(confidence),
            None => slo,
        }
    }

    /// Returns the search of the command line, whose runs follow `plan`.
    pub(crate) fn search(&self, plan: &BenchPlan) -> Result<SloSearchSpec, CliError> {
        let wrong = |error: SearchError| CliError::setting(Self::SLO_SEARCH, error);
        let mut base = plan.clone();
        base.scoring.slo = None;
        let setting = self.setting.as_deref().unwrap_or_default();
        let tiers = self.tiers.clone();
        let spec = SloSearchSpec::with_tiers(base, setting, self.slo(), tiers).map_err(wrong)?;
        let (range, effort) = (self.range(spec.range).map_err(wrong)?, self.effort(&spec.effort));
        let spec = spec.within(range).with_effort(effort);
        check_tokens(plan, &spec.objectives())?;
        let first = spec.point(spec.range.start, 0, 0, 0);
        first.map(|_| spec).map_err(|error| CliError::setting(Self::SLO_SEARCH, error))
    }

    /// Returns the loads of the search: those within the bounds, or around the start if there are
    /// no bounds.
    fn range(&self, usual: SearchRange) -> Result<SearchRange, SearchError> {
        let start = self.start.unwrap_or(usual.start);
        let grain = match (usual.grain, self.precision) {
            (Grain::Share(_), Some(share)) => Grain::Share(share),
            (usual, _) => usual,
        };
        match self.bounds {
            Some((lower, upper)) => SearchRange::new(start, lower, upper, grain),
            None => SearchRange::around(start, grain),
        }
    }

    fn effort(&self, usual: &Effort) -> Effort {
        let mut effort = usual.clone();
        effort.requests = self.requests;
        effort.duration = self.duration.unwrap_or(effort.duration);
        effort.rounds = self.rounds.unwrap_or(effort.rounds);
        effort
    }
}

/// Refuses objectives that a run of the plan cannot show anything about.
pub(crate) fn check(plan: &BenchPlan) -> Result<(), CliError> {
    let Some(slo) = &plan.scoring.slo else { return Ok(()) };
    let is_goodput = |objective: &Objective| matches!(objective.goal, Goal::Goodput { .. });
    if !(0.5..1.0).contains(&slo.confidence) {
        let error = SearchError::Confidence { given: slo.confidence };
        return Err(CliError::setting(SloArgs::SLO_CONFIDENCE, error));
    }
    check_tokens(plan, &slo.objectives)?;
    if slo.objectives.iter().any(is_goodput) && plan.scoring.slos.is_empty() {
        return Err(CliError::setting(SloArgs::SLO, SearchError::NoGoodput));
    }
    Ok(())
}

/// Refuses objectives about tokens if the server's answers have no tokens.
fn check_tokens(plan: &BenchPlan, objectives: &[Objective]) -> Result<(), CliError> {
    let of_tokens = objectives.iter().find(|objective| objective.is_of_tokens());
    match of_tokens.filter(|_| !plan.backend.route().generates()) {
        Some(objective) => Err(no_tokens(*objective)),
        None => Ok(()),
    }
}

fn no_tokens(objective: Objective) -> CliError {
    let why = format!(
        "{objective} is about tokens, and embeddings and rankings have none; e2el, response_e2el, queue \
         and success are what can be asked of them"
    );
    CliError::setting(SloArgs::SLO, why)
}

/// Refuses the flags `files` for result files of a peer, because a search does not write one for
/// each run. The run logs of all runs are kept.
pub(crate) fn refuse_result_files(args: &[OsString], files: &[Flag]) -> Result<(), CliError> {
    let named = |arg: &OsString| {
        let arg = arg.to_str()?.replace('_', "-");
        let name = arg.split('=').next().unwrap_or_default();
        files.iter().copied().find(|flag| flag.name() == name)
    };
    match args.iter().find_map(named) {
        Some(flag) => Err(CliError::setting(
            flag,
            "is not for a search: score its run logs (servemark score RUNLOG --result-file PATH)",
        )),
        None => Ok(()),
    }
}

/// Splits `NAME=OBJECTIVES` into the name and the objectives. The text before the equals sign of a
/// relation is not a name: `ttft:p99<=2s`.
fn split_name(value: &str) -> (Option<&str>, &str) {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    match value.split_once('=') {
        Some((name, list)) if !name.is_empty() && name.chars().all(is_plain) => (Some(name), list),
        _ => (None, value),
    }
}

fn parse_count<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a number above zero, got {text:?}"))
}

fn positive(text: &str) -> Result<f64, String> {
    python::finite_positive_float(text)
}

/// Parses a share between 0 and 1, such as `2%` or `0.02`.
fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    let share = share.filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("expected a share such as 2% or 0.02, got {text:?}"))
}

fn bounds(text: &str) -> Result<(f64, f64), String> {
    let (lower, upper) = text.split_once(',').ok_or("expected LOW,HIGH")?;
    Ok((positive(lower)?, positive(upper)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Invocation;
    use crate::mirror::sglang;

    fn search(line: &str) -> SloRuns {
        match sglang(line) {
            Ok(Invocation::SloSearch(runs)) => *runs,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objectives_are_a_gate_on_a_run() {
        let line = "--slo ttft:p99<2s,success>=99% e2el:max<30s --slo-confidence 99% --seed 7";
        let Ok(Invocation::Bench(parsed)) = sglang(line) else { panic!("no run") };
        let slo = parsed.plan.scoring.slo.unwrap();
        assert_eq!(slo.objectives.len(), 3);
        assert!((slo.confidence - 0.99).abs() < 1e-12);
    }

    #[test]
    fn a_search_is_what_is_asked_of_it() {
        let runs = search(
            "--request-rate 4 --slo mlperf:llama2-70b --slo-search request-rate --slo-start 10 \
             --slo-bounds 2,50 --slo-precision 5% --slo-requests 100 --slo-duration=10 \
             --slo-rounds 2 --sweep-cool-down 3 --sweep-file a.html --sweep-folder f",
        );
        let SloSearchSpec { range, effort, isolation, .. } = &runs.spec;
        assert_eq!((range.start, range.lower, range.upper), (10.0, 2.0, 50.0));
        assert_eq!(range.grain, Grain::Share(0.05));
        assert_eq!((effort.rounds.get(), effort.duration.as_secs()), (2, 10));
        assert_eq!(isolation.cool_down.as_secs(), 3);
        assert_eq!((runs.folder, runs.files.len()), (Some(ResultsFolder::Named("f".into())), 1));
        assert_eq!(runs.spec.requests(2.0), 100);
    }

    #[test]
    fn named_objectives_are_tiers_of_a_search() {
        let line = "--slo success>=99% chat=ttft:p99<=500ms,tpot:p99<50ms batch=mlperf:llama2-70b \
                    --slo-search request-rate --slo-confidence 90%";
        let spec = search(line).spec;
        let names: Vec<&str> = spec.tiers.iter().map(|tier| tier.name.as_str()).collect();
        assert_eq!((names, spec.slo.objectives.len()), (vec!["chat", "batch"], 1));
        let whole: Vec<usize> = spec.tiers().iter().map(|tier| tier.objectives.len()).collect();
        assert_eq!(whole, [3, 3]);
        assert!((spec.slo.confidence - 0.9).abs() < 1e-12);
        let alone = search("--slo chat=ttft:p99<1s --slo-search request-rate").spec;
        assert_eq!((alone.tiers.len(), alone.slo.objectives.len()), (1, 0));
    }

    #[test]
    fn a_search_looks_around_its_start() {
        let range =
            search("--slo ttft:p99<2s --slo-search max-concurrency --slo-start 32").spec.range;
        assert_eq!((range.start, range.lower, range.upper), (32.0, 2.0, 32_768.0));
        assert_eq!(range.grain, Grain::Whole);
    }

    #[test]
    fn help_says_every_exit_code_of_a_gate() {
        for notes in [crate::sweep::NOTES, crate::sglang::embedding::SEARCH_NOTES] {
            for words in ["is 0 if", "3 if they say that it does not", "6 if"] {
                assert!(notes.replace('\n', " ").contains(words), "{words}: {notes}");
            }
        }
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        let error = sglang(line).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        refuses("--slo ttft<2s", "expected an objective such as ttft:p99<2000ms");
        refuses(
            "--slo mlperf:gpt2",
            "there are no limits mlperf:gpt2; there are mlperf:deepseek-r1",
        );
        refuses("--slo-search request-rate", "--slo-search needs objectives (--slo)");
        refuses("--slo-confidence 0.9", "--slo-confidence has no effect without --slo");
        refuses(
            "--slo ttft:p99<2s --slo-start 4",
            "--slo-start has no effect without --slo-search",
        );
        refuses("--slo goodput>=90%", "`scoring.slos`");
        refuses("--slo chat=ttft:p99<2s", "are for --slo-search; leave them out");
        let twice = "--slo a=ttft:p99<2s a=ttft:p99<1s --slo-search request-rate";
        refuses(twice, "two tiers of objectives named a");
        let searching = "--slo ttft:p99<2s --slo-search request-rate";
        refuses(&format!("{searching} --sweep num-prompts=1,2"), "do not go together");
        refuses(&format!("{searching} --sweep-repeats 2"), "no effect with --slo-search");
        refuses(&format!("{searching} --output-file a"), "--output-file is not for a search");
        refuses(&format!("{searching} --slo-bounds 5,2"), "the smaller one first, not 5 and 2");
        refuses("--slo ttft:p99<2s --slo-search load.speed", "a plan has no field load.speed");
        refuses("--slo ttft:p99<2s --slo-confidence 20%", "between 50 % and 100 %");
    }
}
