//! What a search found.

use std::fmt;
use std::io::{self, Write};

use servemark_plan::{Bracket, SearchRange, SloSearchSpec};
use servemark_report::{GridFormat, SloReport, SloRow, SloSide, SweepRow};

use super::{Trial, TrialVerdict};
use crate::ExitCode;

/// What a search found: the largest load that holds, the smallest that does not, and how sure that is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SloAnswer {
    /// What was searched along.
    pub knob: String,
    /// Where.
    pub range: SearchRange,
    /// Between which loads the answer lies.
    pub bracket: Bracket,
    /// How sure each verdict is, from 0 to 1.
    pub confidence: f64,
    /// Whether the search came to its end.
    pub is_whole: bool,
    /// The loads that were tried, in their order.
    pub trials: Vec<Trial>,
}

impl SloAnswer {
    pub(super) fn of(spec: &SloSearchSpec, trials: Vec<Trial>, is_whole: bool) -> Self {
        Self {
            knob: spec.knob.short(),
            range: spec.range,
            bracket: so_far(&trials),
            confidence: spec.slo.confidence,
            is_whole,
            trials,
        }
    }

    /// The largest load that holds.
    pub fn holds(&self) -> Option<&Trial> {
        self.trial(self.bracket.holds?)
    }

    /// The smallest load that counts as missed.
    pub fn fails(&self) -> Option<&Trial> {
        self.trial(self.bracket.fails?)
    }

    /// How many runs it took.
    pub fn runs(&self) -> usize {
        self.trials.iter().map(|trial| trial.rounds.len()).sum()
    }

    /// 3 where not even the smallest load holds.
    pub fn exit_code(&self) -> ExitCode {
        match (self.is_whole, self.bracket.holds) {
            (false, _) => ExitCode::Interrupted,
            (true, None) => ExitCode::GateFailed,
            (true, Some(_)) => ExitCode::Ok,
        }
    }

    /// Writes the loads that were tried, a row each, and plots where the format has them.
    pub fn write(&self, format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
        self.report().write(format, out)
    }

    fn trial(&self, value: f64) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.is_of(value))
    }

    fn report(&self) -> SloReport<'_> {
        let rows = self.trials.iter().filter_map(row);
        let [holds, fails] = [self.bracket.holds, self.bracket.fails];
        SloReport::new(&self.knob, self.to_string(), SloSide { holds, fails }, rows)
    }
}

/// The numbers beside a verdict are the last round's.
fn row(trial: &Trial) -> Option<SloRow<'_>> {
    let last = trial.rounds.last()?;
    let point = SweepRow::new(&last.name, &last.settings, &last.metrics, &last.audit);
    Some(SloRow {
        value: trial.value,
        verdict: trial.verdict.name(),
        rounds: trial.rounds.len(),
        requests: trial.requests,
        judgements: &trial.judgements,
        growth: trial.growth,
        point,
    })
}

fn so_far(trials: &[Trial]) -> Bracket {
    let mut bracket = Bracket::default();
    let known = trials.iter().filter_map(|trial| Some((trial.value, trial.verdict.holds()?)));
    known.for_each(|(value, holds)| bracket.note(value, holds));
    bracket
}

/// The answer in a few sentences.
impl fmt::Display for SloAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, range, confidence, .. } = self;
        if !self.is_whole {
            writeln!(f, "The search was stopped; so far:")?;
        }
        match self.holds() {
            Some(trial) => {
                write!(f, "The largest {knob} that holds is {}", trial.value)?;
                evidence(f, trial)?;
            }
            None => write!(f, "No {knob} from {} on holds.", range.lower)?,
        }
        match self.fails() {
            Some(trial) => {
                write!(f, "\nThe smallest that does not is {}", trial.value)?;
                why(f, trial.verdict)?;
                evidence(f, trial)?;
            }
            None if self.is_whole => {
                write!(f, "\nNothing above it was tried: it is the upper bound.")?;
            }
            None => {}
        }
        let (loads, runs) = (self.trials.len(), self.runs());
        let percent = confidence * 100.0;
        write!(
            f,
            "\n{percent} % confidence for each objective at each load; {loads} loads in {runs} runs."
        )
    }
}

fn evidence(f: &mut fmt::Formatter<'_>, trial: &Trial) -> fmt::Result {
    for (index, judgement) in trial.judgements.iter().enumerate() {
        write!(f, "{}{judgement}", if index == 0 { ": " } else { "; " })?;
    }
    trial.growth.map_or(Ok(()), |growth| write!(f, "; {growth}"))?;
    f.write_str(".")
}

fn why(f: &mut fmt::Formatter<'_>, verdict: TrialVerdict) -> fmt::Result {
    match verdict {
        TrialVerdict::Undecided => {
            f.write_str(" (undecided after all rounds, which counts as missed)")
        }
        TrialVerdict::ClientLimited => {
            f.write_str(" (this client could not offer it: the server may do more)")
        }
        _ => Ok(()),
    }
}
