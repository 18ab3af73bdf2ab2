//! What a search found.

use std::fmt;
use std::io::{self, Write};

use servemark_metrics::{Capacity, LoadEvidence};
use servemark_plan::{LoadBracket, SearchRange, SloSearchSpec, SloTier};
use servemark_report::{GridFormat, SloReport, SloRow, SloTierAnswer, SweepRow};

use super::{Trial, TrialVerdict};
use crate::ExitCode;

/// What a search found: for each tier the loads that hold, those of which nobody can say, those that
/// fail, and an estimate of the capacity.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SloAnswer {
    /// What was searched along.
    pub knob: String,
    /// Where.
    pub range: SearchRange,
    /// The answer of each tier; one without a name where none is named.
    pub tiers: Vec<TierAnswer>,
    /// How sure each verdict is, from 0 to 1.
    pub confidence: f64,
    /// Whether the search came to its end.
    pub is_whole: bool,
    /// The loads that were tried, in their order.
    pub trials: Vec<Trial>,
}

/// The answer of one tier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TierAnswer {
    /// The name of the tier; empty where none is named.
    pub name: String,
    /// Which loads hold, which stay undecided and which fail.
    pub bracket: LoadBracket,
    /// An estimate of the largest load that holds, from all rounds.
    pub capacity: Option<Capacity>,
}

impl TierAnswer {
    fn of(index: usize, tier: SloTier, spec: &SloSearchSpec, trials: &[Trial]) -> Self {
        let standing = |trial: &Trial| Some((trial.value, trial.verdicts[index].standing()?));
        let known: Vec<_> = trials.iter().filter_map(standing).collect();
        let bracket = LoadBracket::of(&known);
        let bound = spec.confidence_of_round();
        let loads: Vec<LoadEvidence<'_>> =
            trials.iter().filter(|trial| trial.usable > 0).map(Trial::shown).collect();
        let capacity = Capacity::of(&loads, &tier.objectives, bound, CONFIDENCE);
        Self { name: tier.name, bracket, capacity }
    }

    /// Whether the tier holds at some load, and if not, whether that is certain.
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
            knob: spec.knob.short(),
            range: spec.range,
            tiers,
            confidence: spec.slo.confidence,
            is_whole,
            trials,
        }
    }

    /// The loads of the first tier, which is the only one of most searches.
    pub fn bracket(&self) -> LoadBracket {
        self.tiers.first().map(|tier| tier.bracket).unwrap_or_default()
    }

    /// The largest load that holds in the first tier.
    pub fn holds(&self) -> Option<&Trial> {
        self.trial(self.bracket().holds?)
    }

    /// The smallest load that fails in the first tier.
    pub fn fails(&self) -> Option<&Trial> {
        self.trial(self.bracket().fails?)
    }

    /// How many runs it took.
    pub fn runs(&self) -> usize {
        self.trials.iter().map(|trial| trial.rounds.len()).sum()
    }

    /// 3 where not even the smallest load of a tier holds, 6 where nobody can say whether it does.
    pub fn exit_code(&self) -> ExitCode {
        if !self.is_whole {
            return ExitCode::Interrupted;
        }
        let codes: Vec<ExitCode> = self.tiers.iter().map(TierAnswer::exit_code).collect();
        let worst = [ExitCode::GateFailed, ExitCode::Undecided];
        worst.into_iter().find(|code| codes.contains(code)).unwrap_or(ExitCode::Ok)
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
        let tiers = self.tiers.iter().map(|tier| {
            let LoadBracket { holds, undecided, fails, not_offered, .. } = tier.bracket;
            let (name, capacity) = (&tier.name, tier.capacity);
            SloTierAnswer { name, holds, undecided, fails, not_offered, capacity }
        });
        SloReport::new(&self.knob, self.to_string(), tiers, rows)
    }

    fn write_tier(
        &self,
        index: usize,
        tier: &TierAnswer,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let (knob, bracket) = (&self.knob, tier.bracket);
        if !tier.name.is_empty() {
            writeln!(f, "{}:", tier.name)?;
        }
        match bracket.holds.and_then(|load| self.trial(load)) {
            Some(trial) => {
                write!(f, "The largest {knob} that holds is {}", trial.value)?;
                evidence(f, trial)?;
            }
            None => write!(f, "No {knob} from {} on holds.", self.range.lower)?,
        }
        if let Some((low, high)) = bracket.undecided {
            write!(f, "\n{knob} is undecided from {low} to {high}: all rounds are used up.")?;
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

/// The numbers beside a verdict are the last round's.
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

/// The answer in a few sentences.
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
    for (index, judgement) in trial.judgements.iter().enumerate() {
        write!(f, "{}{judgement}", if index == 0 { ": " } else { "; " })?;
    }
    trial.growth.map_or(Ok(()), |growth| write!(f, "; {growth}"))?;
    f.write_str(".")
}

/// The confidence of the capacity's interval.
const CONFIDENCE: f64 = 0.95;
