//! Results of a search.

use std::fmt;
use std::io::{self, Write};

use servemark_metrics::{Capacity, LoadEvidence};
use servemark_page::{GridFormat, write_search};
use servemark_plan::{LoadBracket, SearchRange, SloSearchSpec, SloTier};
use servemark_report::{SloReport, SloRow, SloTierAnswer, SweepRow};

use super::{Trial, TrialVerdict};
use crate::ExitCode;

/// Results of a search: for each tier the largest load that holds, the undecided loads, the
/// smallest load that fails, and an estimate of the capacity.
#[derive(Clone, Debug)]
pub struct SloAnswer {
    /// Name of the searched setting, such as the request rate.
    pub setting: String,
    /// Range of the search.
    pub range: SearchRange,
    /// Answers of the tiers; a single one without a name if the spec names no tiers.
    pub tiers: Vec<TierAnswer>,
    /// Confidence of each verdict, from 0 to 1.
    pub confidence: f64,
    /// Whether the search is complete.
    pub is_whole: bool,
    /// Loads that were tried, in the order of their last rounds.
    pub trials: Vec<Trial>,
}

/// Answer of one tier.
#[derive(Clone, Debug)]
pub struct TierAnswer {
    /// Name of the tier; empty if the spec names no tiers.
    pub name: String,
    /// The loads at the border between those that hold and those that fail.
    pub bracket: LoadBracket,
    /// Estimate of the largest load that holds, from all rounds.
    pub capacity: Option<Capacity>,
}

impl TierAnswer {
    fn of(index: usize, tier: SloTier, spec: &SloSearchSpec, trials: &[Trial]) -> Self {
        let verdict = |trial: &Trial| Some((trial.value, trial.verdicts[index].outcome()?));
        let known: Vec<_> = trials.iter().filter_map(verdict).collect();
        let bracket = LoadBracket::of(&known);
        let bound = spec.confidence_of_round();
        let loads: Vec<LoadEvidence<'_>> =
            trials.iter().filter(|trial| trial.usable > 0).map(Trial::evidence).collect();
        let LoadBracket { holds, fails, .. } = bracket;
        let capacity = Capacity::of(&loads, &tier.objectives, bound, CONFIDENCE)
            .map(|found| found.closed_by(holds, fails));
        Self { name: tier.name, bracket, capacity }
    }

    /// Exit code of the tier: whether some load holds, and if none does, whether that is certain.
    fn exit_code(&self) -> ExitCode {
        match self.bracket {
            LoadBracket { holds: Some(_), .. } => ExitCode::Ok,
            LoadBracket { undecided: None, not_offered: None, .. } => ExitCode::GateFailed,
            _ => ExitCode::Undecided,
        }
    }
}

impl SloAnswer {
    pub(super) fn of(spec: &SloSearchSpec, trials: Vec<Trial>, is_whole: bool) -> Self {
        let tiers = spec.tiers().into_iter().enumerate();
        let tiers = tiers.map(|(index, tier)| TierAnswer::of(index, tier, spec, &trials)).collect();
        Self {
            setting: spec.setting.short(),
            range: spec.range,
            tiers,
            confidence: spec.slo.confidence,
            is_whole,
            trials,
        }
    }

    /// Returns the bracket of the first tier, which is the only tier of most searches.
    pub fn bracket(&self) -> LoadBracket {
        self.tiers.first().map(|tier| tier.bracket).unwrap_or_default()
    }

    /// Returns the largest load that holds in the first tier.
    pub fn largest_load(&self) -> Option<&Trial> {
        self.trial(self.bracket().holds?)
    }

    /// Returns the smallest load that fails in the first tier.
    pub fn fails(&self) -> Option<&Trial> {
        self.trial(self.bracket().fails?)
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.trials.iter().map(|trial| trial.rounds.len()).sum()
    }

    /// Returns the exit code: 3 if even the smallest load of a tier fails, 6 if it is undecided.
    pub fn exit_code(&self) -> ExitCode {
        if !self.is_whole {
            return ExitCode::Interrupted;
        }
        let codes: Vec<ExitCode> = self.tiers.iter().map(TierAnswer::exit_code).collect();
        let worst = [ExitCode::GateFailed, ExitCode::Undecided];
        worst.into_iter().find(|code| codes.contains(code)).unwrap_or(ExitCode::Ok)
    }

    /// Writes the loads that were tried, one row each, and plots if the format has them.
    pub fn write(&self, format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report();
        match format.text() {
            Some(format) => report.write(format, out),
            None => write_search(&report, env!("CARGO_PKG_VERSION"), out),
        }
    }

    fn trial(&self, value: f64) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.is_of(value))
    }

    fn report(&self) -> SloReport<'_> {
        let rows = self.trials.iter().filter_map(row);
        let tiers = self.tiers.iter().map(|tier| {
            let LoadBracket { holds, undecided, fails, not_offered, .. } = tier.bracket;
            let (name, capacity) = (&tier.name, tier.capacity);
            SloTierAnswer { name, holds, undecided, fails, not_offered, capacity }
        });
        SloReport::new(&self.setting, self.to_string(), tiers, rows)
    }

    fn write_tier(
        &self,
        index: usize,
        tier: &TierAnswer,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let (setting, bracket) = (&self.setting, tier.bracket);
        if !tier.name.is_empty() {
            writeln!(f, "{}:", tier.name)?;
        }
        match bracket.holds.and_then(|load| self.trial(load)) {
            Some(trial) => {
                write!(f, "The largest {setting} that holds is {}", trial.value)?;
                evidence(f, trial)?;
            }
            None if self.trials.is_empty() => write!(f, "No {setting} was judged.")?,
            None if bracket.fails.is_some_and(|load| load <= self.range.lower) => {
                write!(f, "No {setting} from {} on holds.", self.range.lower)?;
            }
            None => write!(f, "No {setting} was found that holds.")?,
        }
        if let Some((low, high)) = bracket.undecided {
            let is_one = low.total_cmp(&high).is_eq();
            let loads = if is_one { format!("at {low}") } else { format!("from {low} to {high}") };
            write!(f, "\n{setting} is undecided {loads}: all rounds are used up.")?;
        }
        if let Some(trial) = bracket.fails.and_then(|load| self.trial(load)) {
            write!(f, "\nThe smallest that does not is {}", trial.value)?;
            evidence(f, trial)?;
        }
        if let Some(trial) = bracket.not_offered.and_then(|load| self.trial(load)) {
            debug_assert_eq!(trial.verdicts[index], TrialVerdict::ClientLimited);
            write!(f, "\nThis client could not offer {}: the server may do more.", trial.value)?;
        } else if bracket.fails.is_none() && self.is_whole {
            write!(f, "\nNothing above it was tried: it is the upper bound.")?;
        }
        if let Some(capacity) = tier.capacity {
            write!(f, "\nCapacity: {capacity}.")?;
        }
        writeln!(f)
    }
}

/// Returns the table row of a load, with the numbers of its last round.
fn row(trial: &Trial) -> Option<SloRow<'_>> {
    let last = trial.rounds.last()?;
    let point = SweepRow::new(&last.name, &last.settings, &last.metrics, &last.audit);
    Some(SloRow {
        value: trial.value,
        verdict: trial.verdict().name(),
        verdicts: trial.verdicts.iter().map(|verdict| verdict.name()).collect(),
        rounds: trial.rounds.len(),
        requests: trial.requests,
        judgements: &trial.judgements,
        growth: trial.growth,
        point,
    })
}

/// Writes the answer in a few sentences.
impl fmt::Display for SloAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_whole {
            writeln!(f, "The search was stopped; so far:")?;
        }
        for (index, tier) in self.tiers.iter().enumerate() {
            self.write_tier(index, tier, f)?;
        }
        let (loads, runs) = (self.trials.len(), self.runs());
        let percent = self.confidence * 100.0;
        write!(
            f,
            "{percent} % confidence for each objective at each load; {loads} loads in {runs} runs."
        )
    }
}

fn evidence(f: &mut fmt::Formatter<'_>, trial: &Trial) -> fmt::Result {
    f.write_str(": ")?;
    trial.write_evidence(f)?;
    f.write_str(".")
}

/// Confidence of the capacity's interval.
const CONFIDENCE: f64 = 0.95;
