//! Takes our flags of a sweep and of a search out of a command line.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_page::GridFormat;
use servemark_plan::{Isolation, RunProfile, crossed};

use super::side::{Settings, Side};
use crate::argparse::{Declared, Flag, Values, flags, split_value};
use crate::error::CliError;
use crate::number::time_of;
use crate::results_folder::{ResultsArgs, ResultsFolder};
use crate::slo::SloArgs;
use crate::until::UntilArgs;
use crate::{profile, python};

/// Values of our flags for several runs, objectives and known figures.
#[derive(Debug, Default)]
pub(crate) struct RequestedSweep {
    pub(super) sides: Vec<Side>,
    pub(super) repeats: Option<NonZeroU32>,
    cool_down: Option<Duration>,
    same_prompts: bool,
    folder: Option<PathBuf>,
    pub(super) files: Vec<(PathBuf, GridFormat)>,
    pub(super) last: Option<Flag>,
    /// The last flag of a sweep in the command line, without `--sweep` and `--sweep-folder`.
    last_but_folder: Option<Flag>,
    pub(crate) slo: SloArgs,
    /// All arguments except the flags that say where runs and their table are kept.
    pub(crate) identifying: Vec<OsString>,
    pub(super) until: UntilArgs,
    pub(crate) profile: Option<RunProfile>,
}

flags! { RequestedSweep {
    SWEEP = "--sweep";
    SWEEP_COOL_DOWN = "--sweep-cool-down";
    SWEEP_FILE = "--sweep-file";
    SWEEP_FOLDER = "--sweep-folder";
    SWEEP_REPEATS = "--sweep-repeats";
    SWEEP_SAME_PROMPTS = "--sweep-same-prompts";
}}

impl RequestedSweep {
    /// Takes our flags out of a command line. Returns the other arguments and the values of our
    /// flags.
    pub(super) fn of(args: Vec<OsString>) -> Result<(Vec<OsString>, Self), CliError> {
        Self::split_args(args, |_| true)
    }

    /// Takes our flags out of a command line in which `--sweep` and `--sweep-repeats` belong to a
    /// grid with flags of its own. Returns the other arguments and the values of our flags.
    pub(crate) fn beside_a_grid(args: Vec<OsString>) -> Result<(Vec<OsString>, Self), CliError> {
        Self::split_args(args, |flag| ![Self::SWEEP, Self::SWEEP_REPEATS].contains(&flag))
    }

    fn split_args(
        args: Vec<OsString>,
        is_ours: impl Fn(Flag) -> bool,
    ) -> Result<(Vec<OsString>, Self), CliError> {
        let (mut rest, mut requested) = (Vec::new(), Self::default());
        let all = args.clone();
        let mut args = args.into_iter().peekable();
        loop {
            let begin = all.len() - args.len();
            let Some(arg) = args.next() else { break };
            let mut is_identifying = true;
            if let Some((named, arguments)) = profile::parse_profile(&arg, args.peek()) {
                requested.profile = Some(named);
                args.next_if(|_| arguments == 2);
            } else if let Some((flag, attached)) =
                arg.to_str().and_then(own).filter(|(flag, _)| is_ours(*flag))
            {
                let values =
                    Values { flag, attached: attached.map(str::to_owned), args: &mut args };
                requested.take(values)?;
                is_identifying = ![Self::SWEEP_FILE, Self::SWEEP_FOLDER].contains(&flag);
            } else {
                rest.push(arg);
            }
            if is_identifying {
                requested.identifying.extend_from_slice(&all[begin..all.len() - args.len()]);
            }
        }
        Ok((rest, requested))
    }

    fn take(&mut self, values: Values<'_>) -> Result<(), CliError> {
        let flag = values.flag;
        let refuse = |why: String| CliError::Value { flag: flag.to_string(), why };
        match flag {
            _ if is_of(SloArgs::FLAGS, flag) => return self.slo.take(values),
            UntilArgs::UNTIL => return self.until.take(values),
            Self::SWEEP => {
                for side in values.all()? {
                    self.sides.push(Side::parse(&side).map_err(refuse)?);
                }
                return Ok(());
            }
            Self::SWEEP_COOL_DOWN => {
                let seconds = python::finite_positive_float(&values.one()?).map_err(refuse)?;
                self.cool_down = Some(time_of(seconds).map_err(refuse)?);
            }
            Self::SWEEP_FILE => {
                for path in values.all()? {
                    self.files.push(grid_file(&path).map_err(refuse)?);
                }
            }
            Self::SWEEP_FOLDER => self.folder = Some(values.one()?.into()),
            Self::SWEEP_REPEATS => {
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
        if flag != Self::SWEEP_FOLDER {
            self.last_but_folder = Some(flag);
        }
        Ok(())
    }

    /// Returns the folder of several runs: the one of `--sweep-folder`, else the one that a single
    /// run of the command line has.
    pub(crate) fn folder_of(
        &self,
        single: Option<ResultsFolder>,
    ) -> Result<Option<ResultsFolder>, CliError> {
        match (&self.folder, single) {
            (Some(_), Some(ResultsFolder::Named(_))) => {
                let [flag, other] =
                    [Self::SWEEP_FOLDER, ResultsArgs::OUT].map(|flag| flag.to_string());
                Err(CliError::Conflict { flag, other })
            }
            (Some(folder), _) => Ok(Some(ResultsFolder::Named(folder.clone()))),
            (None, single) => Ok(single),
        }
    }

    /// Returns a flag of a sweep that has no effect without a search, if there is one. On a grid
    /// with flags of its own, `--sweep-folder` has an effect.
    pub(crate) fn idle_beside_a_grid(&self, is_grid: bool) -> Option<Flag> {
        if is_grid { self.last_but_folder } else { self.last }
    }

    /// Refuses flags of a sweep, because there is none.
    pub(super) fn refuse_idle(&self) -> Result<(), CliError> {
        let idle = |flag| CliError::no_effect(flag, format!("without {}", Self::SWEEP));
        self.last.map_or(Ok(()), |flag| Err(idle(flag)))
    }

    /// Returns the flags and values of every point: each combination of the values of all sides.
    pub(super) fn settings(&self) -> Result<Vec<Settings>, CliError> {
        let steps = |side: &Side| {
            let steps = side.steps().map_err(|why| CliError::setting(Self::SWEEP, why))?;
            Ok((0..steps).map(|step| side.at(step)).collect())
        };
        let sides: Vec<Vec<Settings>> =
            self.sides.iter().map(steps).collect::<Result<_, CliError>>()?;
        Ok(crossed(&sides))
    }

    /// Returns the measures that keep the runs independent of each other.
    pub(super) fn isolation(&self) -> Isolation {
        let isolation = if self.same_prompts { Isolation::none() } else { Isolation::default() };
        isolation.with_cool_down(self.cool_down.unwrap_or_default())
    }
}

/// Returns our flag in an argument, and the value after its equals sign; `None` if the argument is
/// not our flag.
fn own(arg: &str) -> Option<(Flag, Option<&str>)> {
    let (name, value) = split_value(arg);
    let all = [RequestedSweep::FLAGS, SloArgs::FLAGS, UntilArgs::FLAGS].into_iter().flatten();
    let known = all.map(|declared| declared.flag).find(|flag| flag.name() == name);
    Some((known?, value))
}

fn is_of(group: &[Declared], flag: Flag) -> bool {
    group.iter().any(|declared| declared.flag == flag)
}

fn grid_file(path: &str) -> Result<(PathBuf, GridFormat), String> {
    let extension = Path::new(path).extension().and_then(|end| end.to_str());
    let format = extension.and_then(GridFormat::of_extension);
    let wrong =
        || format!("expected a name in .csv, .html, .json or .md, got {}", python::repr(path));
    Ok((path.into(), format.ok_or_else(wrong)?))
}
