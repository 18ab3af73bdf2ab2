//! Our flags for several runs, in every dialect of a serving benchmark: any flag of the command
//! line, in all the values that it is to take.
//!
//! Each point is the command line with one more value of each flag at its end, where it wins, read
//! like any other. So whatever a dialect makes of a flag, a sweep makes of it too.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Peekable;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::vec;

use serde_json::Value;
use servemark_plan::{Isolation, NamedPlan, SweepSpec, crossed};
use servemark_report::GridFormat;

use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::{Invocation, Parsed, python};

/// Several runs of one command line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SweepRuns {
    /// The runs.
    pub spec: SweepSpec,
    /// The first of them, for all that they share.
    pub first: Parsed,
    /// Where their run logs are kept; nowhere if none are written.
    pub folder: Option<PathBuf>,
    /// Where the table of them all is written, and as what.
    pub files: Vec<(PathBuf, GridFormat)>,
}

/// A serving benchmark in a dialect that `parse` reads: one run, or several if our flags ask for
/// them.
pub fn bench(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    parse: impl Fn(&str, Vec<OsString>, &Environment) -> Result<Parsed, UsageError>,
) -> Result<Invocation, UsageError> {
    let refuse = |error| UsageError::refused(program, error);
    let args: Vec<OsString> = args.into_iter().collect();
    let identity = identity(program, &args);
    let (args, asked) = Asked::of(args).map_err(refuse)?;
    if asked.sides.is_empty() {
        asked.refuse_idle().map_err(refuse)?;
        return Ok(Invocation::Bench(Box::new(parse(program, args, environment)?)));
    }
    let mut points = Vec::new();
    for settings in asked.settings().map_err(refuse)? {
        let more = settings.iter().map(|(flag, value)| format!("--{flag}={value}").into());
        let args = args.iter().cloned().chain(more).collect();
        points.push((settings, parse(program, args, environment)?));
    }
    asked.runs(points, identity).map(|runs| Invocation::SweepRuns(Box::new(runs))).map_err(refuse)
}

/// By what a command line is known again: a hash, because headers in it may be secret. A hasher
/// that is made so has the same keys in every run.
fn identity(program: &str, args: &[OsString]) -> String {
    let mut hasher = DefaultHasher::new();
    (program, args).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

type Settings = Vec<(String, String)>;

/// What our flags ask for.
#[derive(Debug, Default)]
struct Asked {
    sides: Vec<Side>,
    repeats: Option<NonZeroU32>,
    cool_down: Option<Duration>,
    same_prompts: bool,
    folder: Option<PathBuf>,
    files: Vec<(PathBuf, GridFormat)>,
    last: Option<&'static str>,
}

/// Flags that move together, each with equally many values.
#[derive(Debug)]
struct Side {
    flags: Vec<(String, Vec<String>)>,
}

impl Asked {
    /// Takes our flags out of a command line.
    fn of(args: impl IntoIterator<Item = OsString>) -> Result<(Vec<OsString>, Self), CliError> {
        let (mut rest, mut asked) = (Vec::new(), Self::default());
        let mut args = args.into_iter().collect::<Vec<_>>().into_iter().peekable();
        while let Some(arg) = args.next() {
            match arg.to_str().and_then(own) {
                Some((flag, attached)) => {
                    let values =
                        Values { flag, attached: attached.map(str::to_owned), args: &mut args };
                    asked.take(values)?;
                }
                None => rest.push(arg),
            }
        }
        Ok((rest, asked))
    }

    fn take(&mut self, values: Values<'_>) -> Result<(), CliError> {
        let flag = values.flag;
        let refuse = |why: String| CliError::Value { flag: flag.to_owned(), why };
        match flag {
            SWEEP => {
                for side in values.all()? {
                    self.sides.push(Side::parse(&side).map_err(refuse)?);
                }
                return Ok(());
            }
            "--sweep-cool-down" => {
                let seconds = python::finite_positive_float(&values.one()?).map_err(refuse)?;
                self.cool_down = Duration::try_from_secs_f64(seconds).ok();
            }
            "--sweep-file" => {
                for path in values.all()? {
                    self.files.push(grid_file(&path).map_err(refuse)?);
                }
            }
            "--sweep-folder" => self.folder = Some(values.one()?.into()),
            "--sweep-repeats" => {
                let text = values.one()?;
                let repeats = text.parse().ok();
                let wrong = || refuse(format!("expected a number above zero, got {text:?}"));
                self.repeats = Some(repeats.ok_or_else(wrong)?);
            }
            _ => {
                values.none()?;
                self.same_prompts = true;
            }
        }
        self.last = Some(flag);
        Ok(())
    }

    /// What is asked of a sweep has no effect without one.
    fn refuse_idle(&self) -> Result<(), CliError> {
        let idle = |flag| CliError::NoEffect { flag, when: "without --sweep" };
        self.last.map_or(Ok(()), |flag| Err(idle(flag)))
    }

    /// The flags of every point: each side's with all of the next side's.
    fn settings(&self) -> Result<Vec<Settings>, CliError> {
        let steps = |side: &Side| Ok((0..side.steps()?).map(|step| side.at(step)).collect());
        let sides: Vec<Vec<Settings>> =
            self.sides.iter().map(steps).collect::<Result<_, CliError>>()?;
        Ok(crossed(&sides))
    }

    fn runs(
        self,
        points: Vec<(Settings, Parsed)>,
        identity: String,
    ) -> Result<SweepRuns, CliError> {
        refuse_one_file(&points)?;
        let plans = points.iter().map(|(settings, parsed)| {
            let settings =
                settings.iter().map(|(flag, value)| (flag.replace('-', "_"), typed(value)));
            NamedPlan::new(settings.collect(), parsed.plan.clone())
        });
        let isolation = if self.same_prompts { Isolation::none() } else { Isolation::default() };
        let isolation = isolation.with_cool_down(self.cool_down.unwrap_or_default());
        let spec = SweepSpec::listed(plans)
            .repeated(self.repeats.unwrap_or(NonZeroU32::MIN))
            .isolated(isolation)
            .known_as(identity);
        let first = points.into_iter().next().expect("a side has a step").1;
        let folder = self.folder.or_else(|| Some(folder_of(first.plan.output.run_log.as_deref()?)));
        Ok(SweepRuns { spec, first, folder, files: self.files })
    }
}

/// Runs that would write the same result file over and over are refused.
fn refuse_one_file(points: &[(Settings, Parsed)]) -> Result<(), CliError> {
    let replaced = |parsed: &Parsed| {
        let files = parsed.plan.output.vllm.as_ref()?;
        files.name.clone().filter(|_| files.save == Some(servemark_plan::SaveMode::Replace))
    };
    match points.iter().filter_map(|(_, parsed)| replaced(parsed)).nth(1) {
        None => Ok(()),
        Some(name) => Err(CliError::setting(
            "--result-filename",
            format!("{name} would be the file of every point; give --append-result, too"),
        )),
    }
}

impl Side {
    /// `max-concurrency=1,8+num-prompts=10,80`
    fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected FLAG=V,V or FLAG=V,V+FLAG=V,V, got {}", python::repr(text));
        let flag = |part: &str| {
            let (flag, values) = part.split_once('=').ok_or_else(expected)?;
            let values: Vec<String> = values.split(',').map(str::to_owned).collect();
            let flag = flag.trim_start_matches("--").to_owned();
            let is_whole = !flag.is_empty() && values.iter().all(|value| !value.is_empty());
            is_whole.then_some((flag, values)).ok_or_else(expected)
        };
        Ok(Self { flags: text.split('+').map(flag).collect::<Result<_, _>>()? })
    }

    fn steps(&self) -> Result<usize, CliError> {
        let mut counts = self.flags.iter().map(|(_, values)| values.len());
        let first = counts.next().unwrap_or_default();
        match counts.find(|count| *count != first) {
            None => Ok(first),
            Some(other) => Err(CliError::setting(
                SWEEP,
                format!(
                    "flags that move together need equally many values, not {first} and {other}"
                ),
            )),
        }
    }

    fn at(&self, step: usize) -> Settings {
        self.flags.iter().map(|(flag, values)| (flag.clone(), values[step].clone())).collect()
    }
}

/// What follows one of our flags.
struct Values<'a> {
    flag: &'static str,
    attached: Option<String>,
    args: &'a mut Peekable<vec::IntoIter<OsString>>,
}

impl Values<'_> {
    fn all(self) -> Result<Vec<String>, CliError> {
        let mut values: Vec<String> = self.attached.into_iter().collect();
        if values.is_empty() {
            let is_value = |arg: &OsString| arg.to_str().is_some_and(|arg| !arg.starts_with('-'));
            while let Some(value) = self.args.next_if(is_value) {
                values.extend(value.into_string());
            }
        }
        let flag = self.flag.to_owned();
        let missing = CliError::ExpectedArgument { flag, expected: "at least one argument" };
        if values.is_empty() { Err(missing) } else { Ok(values) }
    }

    fn one(self) -> Result<String, CliError> {
        let flag = self.flag.to_owned();
        let next = self.attached.or_else(|| self.args.next()?.into_string().ok());
        next.ok_or(CliError::ExpectedArgument { flag, expected: "one argument" })
    }

    fn none(self) -> Result<(), CliError> {
        let unwanted = |value: String| CliError::UnwantedArgument {
            flag: self.flag.to_owned(),
            value: python::repr(&value),
        };
        self.attached.map_or(Ok(()), |value| Err(unwanted(value)))
    }
}

/// Which of our flags an argument is, and what follows its equals sign.
fn own(arg: &str) -> Option<(&'static str, Option<&str>)> {
    let (name, value) = match arg.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (arg, None),
    };
    Some((FLAGS.iter().copied().find(|flag| *flag == name)?, value))
}

/// A value as the number that it is, else as text.
fn typed(text: &str) -> Value {
    let number = serde_json::from_str::<Value>(text).ok().filter(Value::is_number);
    number.unwrap_or_else(|| text.into())
}

/// A folder in the place of a single run's log.
fn folder_of(run_log: &Path) -> PathBuf {
    let name = run_log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = [".runlog.jsonl", ".jsonl"].iter().find_map(|end| name.strip_suffix(end));
    run_log.with_file_name(stem.map_or_else(|| format!("{name}.sweep"), str::to_owned))
}

fn grid_file(path: &str) -> Result<(PathBuf, GridFormat), String> {
    let extension = Path::new(path).extension().and_then(|end| end.to_str());
    let format = extension.and_then(GridFormat::of_extension);
    let wrong =
        || format!("expected a name in .csv, .html, .json or .md, got {}", python::repr(path));
    Ok((path.into(), format.ok_or_else(wrong)?))
}

const SWEEP: &str = "--sweep";
const FLAGS: [&str; 6] = [
    SWEEP,
    "--sweep-cool-down",
    "--sweep-file",
    "--sweep-folder",
    "--sweep-repeats",
    "--sweep-same-prompts",
];

/// What help says of them.
pub(crate) const NOTES: &str = "\
Several runs: --sweep FLAG=V,V ... runs once for every combination of the values of any flags, such \
as --sweep max-concurrency=1,8,64 request-rate=2,4; FLAG=V,V+FLAG=V,V moves flags together. Each \
point has a seed of its own and prompts that begin as no other point's do (--sweep-same-prompts: \
not so), and a run log in a folder (--sweep-folder PATH), where the same command line goes on after \
a kill. --sweep-repeats N, --sweep-cool-down SECONDS, --sweep-file PATH (.csv, .html, .json, .md; \
one or more).";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sglang, vllm};

    fn sglang(line: &str) -> Result<Invocation, String> {
        let args = line.split(' ').map(Into::into);
        let environment = Environment::default();
        bench("bench-serving", args, &environment, |program, args, environment| {
            sglang::parse(program, args, environment)
        })
        .map_err(|error| error.to_string())
    }

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
        assert_eq!(runs.folder, Some("f".into()));
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
    fn a_dialect_makes_of_a_swept_flag_what_it_makes_of_a_given_one() {
        let args = ["--model", "m", "--sweep", "request_rate=2,inf", "--sweep-same-prompts"];
        let environment = Environment::default();
        let invocation =
            bench("vllm", args.map(Into::into), &environment, |program, args, from| {
                vllm::parse(program, args, from)
            });
        let Ok(Invocation::SweepRuns(runs)) = invocation else { panic!("{invocation:?}") };
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
