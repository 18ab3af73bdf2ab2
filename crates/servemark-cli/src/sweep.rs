//! Our flags for several runs, in every dialect of a serving benchmark: any flag of the command
//! line, with a list of values.
//!
//! Each point is the command line with one more value of each flag at its end, where it takes
//! precedence. It is parsed like any other command line, so a swept flag has the same effects as a
//! given one.

mod requested;
mod side;

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde_json::Value;
use servemark_core::IfTaken;
use servemark_page::GridFormat;
use servemark_plan::{BenchPlan, NamedPlan, OutputSpec, SloSpec, SweepSpec};

pub(crate) use self::requested::RequestedSweep;
use self::side::Settings;
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::RunArgs;
use crate::parsed::Parsed;
use crate::slo::{self, SloRuns};
use crate::{ResultsFolder, profile, until};

/// Several runs of one command line.
#[derive(Clone, Debug)]
pub struct SweepRuns {
    /// Specification of the sweep.
    pub spec: SweepSpec,
    /// The first run, with the settings that all runs share.
    pub first: Parsed,
    /// Folder of the run logs; `None` if no logs are written.
    pub folder: Option<ResultsFolder>,
    /// Files into which the table of all runs is written, with their formats.
    pub files: Vec<(PathBuf, GridFormat)>,
}

/// The runs that the command line of a serving benchmark asks for.
#[derive(Clone, Debug)]
pub(crate) enum Runs {
    /// A single run.
    One(Box<Parsed>),
    /// A search for the largest load that meets its objectives.
    Search(Box<SloRuns>),
    /// A run for each combination of values of flags.
    Sweep(Box<SweepRuns>),
}

/// Parses the command line of a serving benchmark, in the dialect that `parse` reads: one run, or
/// several if our flags ask for them. `result_files` are the dialect's flags for result files.
pub(crate) fn bench(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    result_files: &[Flag],
    parse: impl Fn(&str, Vec<OsString>, &Environment) -> Result<Parsed, UsageError>,
) -> Result<Runs, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args: Vec<OsString> = args.into_iter().collect();
    let (args, requested) = RequestedSweep::of(args).map_err(refuse)?;
    let identity = identity(program, &requested.identifying);
    let gate = requested.slo.gate().map_err(refuse)?;
    let parse = |program: &str, args, environment: &Environment| {
        let read = |args| -> Result<Parsed, UsageError> {
            let mut parsed = parse(program, args, environment)?;
            requested.complete(&mut parsed.plan, gate.as_ref()).map_err(refuse)?;
            Ok(parsed)
        };
        requested.by_profile(args, read, refuse)
    };
    if requested.slo.is_search() {
        requested.refuse_in_a_search().map_err(refuse)?;
        slo::refuse_result_files(&args, result_files).map_err(refuse)?;
        let parsed = parse(program, args, environment)?;
        let search = requested.search(parsed, identity).map_err(refuse)?;
        return Ok(Runs::Search(Box::new(search)));
    }
    if requested.sides.is_empty() {
        requested.refuse_idle().map_err(refuse)?;
        return Ok(Runs::One(Box::new(parse(program, args, environment)?)));
    }
    let mut points = Vec::new();
    for settings in requested.settings().map_err(refuse)? {
        let more = settings.iter().map(|(flag, value)| format!("--{flag}={value}").into());
        let args = args.iter().cloned().chain(more).collect();
        points.push((settings, parse(program, args, environment)?));
    }
    requested.runs(points, identity).map(|runs| Runs::Sweep(Box::new(runs))).map_err(refuse)
}

/// Returns the identity by which a command line is recognised when it is resumed. It is a hash,
/// because headers in it may be secret. A hasher that is created in this way has the same keys in
/// every process. `args` does not contain the flags that say where runs and their table are kept,
/// so that the table can be written again to another file.
pub(crate) fn identity(program: &str, args: &[OsString]) -> String {
    let mut hasher = DefaultHasher::new();
    (program, args).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

impl RequestedSweep {
    /// Puts the objectives, the precision and the profile of our flags into a plan. Refuses a plan
    /// for which they are meaningless.
    pub(crate) fn complete(
        &self,
        plan: &mut BenchPlan,
        gate: Option<&SloSpec>,
    ) -> Result<(), CliError> {
        plan.scoring.slo = gate.cloned();
        plan.scoring.until = self.until.spec();
        plan.scoring.profile = self.profile;
        slo::check(plan)?;
        until::check(plan)
    }

    /// Parses a command line, with the number of requests that its profile requires.
    fn by_profile(
        &self,
        args: Vec<OsString>,
        read: impl Fn(Vec<OsString>) -> Result<Parsed, UsageError>,
        refuse: impl Fn(CliError) -> UsageError,
    ) -> Result<Parsed, UsageError> {
        let parsed = read(args.clone())?;
        if self.profile.is_none() {
            return Ok(parsed);
        }
        let Some(needed) = profile::requests(&parsed.plan).map_err(refuse)? else {
            return Ok(parsed);
        };
        let given = parsed.plan.workload.requests;
        let more = OsString::from(format!("{NUM_PROMPTS}={needed}"));
        let mut parsed = read(args.into_iter().chain([more]).collect())?;
        parsed.warnings.push(profile::warning(given, needed));
        Ok(parsed)
    }

    /// Refuses flags that set the length of a run, because a search sets it.
    pub(crate) fn refuse_in_a_search(&self) -> Result<(), CliError> {
        match self.profile {
            None => self.until.refuse_in_a_search(),
            Some(_) => Err(CliError::no_effect(profile::PROFILE, IN_A_SEARCH)),
        }
    }

    fn runs(
        self,
        points: Vec<(Settings, Parsed)>,
        identity: String,
    ) -> Result<SweepRuns, CliError> {
        refuse_one_file(&points)?;
        points.iter().try_for_each(|(_, parsed)| refuse_overwrite(parsed))?;
        let plans = points.iter().map(|(settings, parsed)| {
            let settings =
                settings.iter().map(|(flag, value)| (flag.replace('-', "_"), typed(value)));
            NamedPlan::new(settings.collect(), parsed.plan.clone())
        });
        let spec = SweepSpec::listed(plans)
            .repeated(self.repeats.unwrap_or(NonZeroU32::MIN))
            .isolated(self.isolation())
            .known_as(identity);
        let first = points.into_iter().next().expect("a side has a step").1;
        let folder = self.folder_of(first.folder.clone())?.or_else(|| folder_of(&first));
        Ok(SweepRuns { spec, first, folder, files: self.files })
    }

    /// Returns the search of the command line. Flags of a sweep say what it keeps and how its runs
    /// are isolated.
    pub(crate) fn search(self, mut parsed: Parsed, identity: String) -> Result<SloRuns, CliError> {
        if !self.sides.is_empty() {
            return Err(CliError::Together(NOT_BOTH));
        }
        if self.repeats.is_some() {
            return Err(CliError::no_effect(Self::SWEEP_REPEATS, IN_A_SEARCH));
        }
        refuse_overwrite(&parsed)?;
        let folder = self.folder_of(parsed.folder.clone())?.or_else(|| folder_of(&parsed));
        parsed.plan.output = OutputSpec::default();
        let spec = self.slo.search(&parsed.plan)?.isolated(self.isolation()).known_as(identity);
        Ok(SloRuns { spec, first: parsed, folder, files: self.files })
    }
}

/// Refuses runs of which each would replace the result file of the one before.
fn refuse_one_file(points: &[(Settings, Parsed)]) -> Result<(), CliError> {
    let replaced = |parsed: &Parsed| {
        let files = parsed.plan.output.vllm.as_ref()?;
        files.name.clone().filter(|_| files.save == Some(servemark_plan::SaveMode::Replace))
    };
    match points.iter().filter_map(|(_, parsed)| replaced(parsed)).nth(1) {
        None => Ok(()),
        Some(name) => Err(CliError::Peer(format!(
            "--result-filename {name} would be the file of every point; give --append-result, too"
        ))),
    }
}

/// Refuses `--overwrite` on several runs, because they are resumed where they were stopped.
fn refuse_overwrite(parsed: &Parsed) -> Result<(), CliError> {
    match parsed.plan.output.run_log_if_taken {
        IfTaken::Replace => Err(CliError::no_effect(RunArgs::OVERWRITE, "on several runs")),
        _ => Ok(()),
    }
}

/// Returns a value as a number if it is one, otherwise as a string.
fn typed(text: &str) -> Value {
    let number = serde_json::from_str::<Value>(text).ok().filter(Value::is_number);
    number.unwrap_or_else(|| text.into())
}

/// Returns the folder that several runs have in place of a single run's log; `None` if no log is
/// written.
fn folder_of(parsed: &Parsed) -> Option<ResultsFolder> {
    let output = &parsed.plan.output;
    let run_log = output.run_log.as_deref()?;
    let name = run_log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = [".runlog.jsonl", ".jsonl"].iter().find_map(|end| name.strip_suffix(end));
    let folder =
        run_log.with_file_name(stem.map_or_else(|| format!("{name}.sweep"), str::to_owned));
    // Only the default name, which has the time in it, may get a number.
    Some(match output.run_log_if_taken {
        IfTaken::Number => ResultsFolder::Dated(folder),
        IfTaken::Refuse | IfTaken::Replace => ResultsFolder::Named(folder),
    })
}

/// Number of requests, by the name that it has in every dialect with this flag for several runs.
const NUM_PROMPTS: Flag = Flag::new("--num-prompts");

const IN_A_SEARCH: &str = "with --slo-search";

pub(crate) const NOT_BOTH: &str = "--sweep and --slo-search do not go together";

/// Help text about the flags for several runs, objectives, known figures and profiles.
pub(crate) const NOTES: &str = "\
Several runs: --sweep FLAG=V,V ... makes a run for every combination of the values of any flags, such \
as --sweep max-concurrency=1,8,64 request-rate=2,4; FLAG=V,V+FLAG=V,V changes flags together. Each \
run has a seed and a beginning of its prompts of its own (the same ones with --sweep-same-prompts), and a run \
log in a folder (--sweep-folder PATH), from which the same command line continues after a stop. \
--sweep-repeats N makes N runs of each combination, --sweep-cool-down SECONDS pauses between two runs, and \
--sweep-file PATH ... writes the table of all runs (.csv, .html, .json, .md; one or more).

Objectives: --slo OBJECTIVE[,OBJECTIVE] ... is what the run must meet, such as ttft:p99<2000ms, \
tpot:mean<50ms, e2el:max<30s, success>=99%, or mlperf:llama2-70b for MLPerf's limits; the exit code is 0 if \
confidence bounds say that it does (--slo-confidence 95%), 3 if they say that it does not, and 6 if the \
run cannot tell or is not judged. --slo-search request-rate or --slo-search max-concurrency (or any number of the \
plan) finds, by doubling and bisection, the loads that meet the objectives, that stay undecided and that miss them, \
and estimates the capacity; --slo NAME=OBJECTIVES ... gives a search several tiers. A search begins at \
--slo-start N, stays within --slo-bounds LOW,HIGH, and ends when the load is known to --slo-precision 2%. The first \
round of a load has at least --slo-requests N requests and lasts at least --slo-duration SECONDS; each load \
has at most --slo-rounds N rounds, each twice as long as the one before it. --sweep-folder, \
--sweep-file, --sweep-cool-down and --sweep-same-prompts apply to searches, too.

Known figures: --until FIGURE+-HALFWIDTH[,...] ..., such as ttft:mean+-2%, itl:p99+-5ms or \
output_tokens_per_s+-1%, ends a run when all of them are known with 95 % confidence; --num-prompts and the \
duration stay its limits, and the exit code is 6 if it ends at one of them before.

MLPerf: --profile mlperf with --slo mlperf:MODEL and --request-rate makes a run of 600 s or more and says \
whether it is VALID by LoadGen's rules for the Server scenario; the exit code is 3 if it is INVALID.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Invocation;
    use crate::mirror::sglang;

    fn runs(line: &str) -> SweepRuns {
        match sglang(line) {
            Ok(Invocation::SweepRuns(runs)) => *runs,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_combination_of_flags_is_a_point() {
        let runs = runs(
            "--backend sglang --sweep max-concurrency=1,8+num-prompts=10,80 request-rate=2,inf \
             --seed 7 --sweep-repeats=2 --sweep-file a.csv b.html --sweep-folder f",
        );
        let points = runs.spec.points(0).unwrap();
        assert_eq!(points.len(), 8);
        assert_eq!(points[3].name, "max_concurrency=1,num_prompts=10,request_rate=inf,repeat=1");
        let last = &points[7].plan;
        assert_eq!((last.workload.requests, last.workload.seed), (80, 14));
        assert!(last.load.arrivals.is_burst());
        assert_eq!(runs.files.len(), 2);
        assert_eq!(runs.folder, Some(ResultsFolder::Named("f".into())));
    }

    #[test]
    fn only_a_name_with_the_time_in_it_is_the_name_of_a_new_folder() {
        let folder = |more: &str| runs(&format!("--sweep num-prompts=1,2{more}")).folder;
        assert!(matches!(folder(""), Some(ResultsFolder::Dated(_))));
        let named = |name: &str| Some(ResultsFolder::Named(name.into()));
        assert_eq!(folder(" --run-log mine.jsonl"), named("mine"));
        assert_eq!(folder(" --run-log mine"), named("mine.sweep"));
        assert_eq!(folder(" --no-run-log"), None);
    }

    #[test]
    fn a_command_line_is_known_again_by_itself_alone() {
        let identity = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
            identity("bench-serving", &args)
        };
        assert_eq!(identity("--seed 1"), identity("--seed 1"));
        assert_ne!(identity("--seed 1"), identity("--seed1"));
        assert_eq!(identity("--seed 1").len(), 16);
    }

    #[test]
    fn a_command_line_is_known_again_with_another_file_and_folder() {
        let identity = |more: &str| {
            let line = format!("--sweep num-prompts=1,2 --seed 7{more}");
            runs(&line).spec.identity.expect("a sweep is known by its command line")
        };
        let plain = identity("");
        assert_eq!(identity(" --sweep-file a.csv b.md --sweep-folder f"), plain);
        assert_eq!(identity(" --sweep-folder=f"), plain);
        assert_ne!(identity(" --sweep-repeats 2"), plain);
    }

    #[cfg(feature = "commands")]
    #[test]
    fn a_dialect_makes_of_a_swept_flag_what_it_makes_of_a_given_one() {
        let args = ["--model", "m", "--sweep", "request_rate=2,inf", "--sweep-same-prompts"];
        let environment = Environment::default();
        let requested =
            bench("vllm", args.map(Into::into), &environment, &[], |program, args, from| {
                crate::vllm::parse(program, args, from)
            });
        let Ok(Runs::Sweep(runs)) = requested else { panic!("{requested:?}") };
        let points = runs.spec.points(0).unwrap();
        assert_eq!(points[0].plan.echo["request_rate"], serde_json::json!(2.0));
        assert_eq!(points[0].plan.workload.prompt_salt, None);
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        let error = sglang(line).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        refuses("--sweep-folder f", "--sweep-folder has no effect without --sweep");
        refuses("--sweep", "argument --sweep: expected at least one argument");
        refuses("--sweep max-concurrency", "expected FLAG=V,V or FLAG=V,V+FLAG=V,V");
        refuses("--sweep a=1,2+b=1", "need equally many values, not 2 and 1");
        refuses("--sweep nothing=1,2", "unrecognized arguments: --nothing=1");
        refuses("--sweep num-prompts=1,x", "invalid int value: 'x'");
        refuses("--sweep num-prompts=1 --sweep-file a.txt", "expected a name in .csv");
        refuses("--sweep num-prompts=1 --sweep-repeats 0", "expected a number above zero");
        refuses("--sweep-same-prompts=1", "ignored explicit argument '1'");
    }
}
