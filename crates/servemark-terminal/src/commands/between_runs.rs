//! The spread stored by `servemark noise`, compared with the gates of a comparison.

use std::path::Path;

use servemark::core::RunLogReader;
use servemark::metrics::{Bound, Condition, Figure, RunSpread, ToleranceJudgement};
use servemark::{ComparedResults, KnownNoise, NoiseStore};

use crate::screen;

/// The spread between runs of one plan against one server, for the runs of a comparison.
#[derive(Debug)]
pub(crate) struct BetweenRuns {
    known: Vec<KnownNoise>,
    runs: [usize; 2],
}

impl BetweenRuns {
    /// Returns the spread that a store file has for the runs of either side.
    pub(crate) fn of(store: Option<&Path>, compared: &ComparedResults) -> Self {
        let runs = compared.comparison.runs;
        let Some(store) = store.map(NoiseStore::at) else {
            return Self { known: Vec::new(), runs };
        };
        let firsts = compared.sides.iter().filter_map(|side| side.first());
        let found = firsts.filter_map(|first| {
            let reader = RunLogReader::open(Path::new(&first.source)).ok()?;
            store.find(reader.header())
        });
        Self { known: found.collect(), runs }
    }

    /// Prints the known spread of these figures.
    pub(crate) fn print(&self, figures: impl Iterator<Item = Figure>) {
        let Some(runs) = self.known.iter().map(|known| known.runs).max() else { return };
        let reported: Vec<String> = figures
            .filter_map(|figure| Some(format!("{figure} {:.2} %", self.spread(figure)?)))
            .collect();
        if !reported.is_empty() {
            let reported = reported.join(", ");
            screen::eprint_line(&format!(
                "Spread between runs of the same ({runs} runs): {reported}"
            ));
        }
    }

    /// Returns the conditions that can be judged; prints the others, whose limits are below the
    /// spread.
    pub(crate) fn judged(&self, conditions: &[Condition]) -> Vec<Condition> {
        let is_judged = |condition: &&Condition| {
            is_allowed(self.refusal_of(condition).as_deref(), &format!("--fail-if {condition}"))
        };
        conditions.iter().filter(is_judged).cloned().collect()
    }

    /// Returns why a condition cannot be judged: its limit is below the spread.
    pub(crate) fn refusal_of(&self, condition: &Condition) -> Option<String> {
        match condition.bound {
            Bound::RoseBy(percent) | Bound::FellBy(percent) => {
                self.refusal(condition.figure, percent.abs())
            }
            _ => None,
        }
    }

    /// Returns the tolerances that can be judged; prints the others, whose limits are below the
    /// spread.
    pub(crate) fn tolerated(&self, judgements: &[ToleranceJudgement]) -> Vec<ToleranceJudgement> {
        let is_judged = |judgement: &&ToleranceJudgement| {
            let ToleranceJudgement { figure, percent, .. } = judgement;
            let gate = format!("--no-worse-than {}={percent}%", figure.path());
            is_allowed(self.refusal(*figure, *percent).as_deref(), &gate)
        };
        judgements.iter().filter(is_judged).copied().collect()
    }

    /// Returns why a limit in percent cannot be judged: chance between runs exceeds it.
    pub(crate) fn refusal(&self, figure: Figure, limit: f64) -> Option<String> {
        let chance = RunSpread::chance_percent(self.spread(figure)?, self.runs);
        (limit < chance).then(|| {
            format!(
                "not judged: runs of the same differ by {chance:.1} % by chance (servemark noise); \
                 give a larger limit, or more runs a side"
            )
        })
    }

    /// Returns the larger spread of the two sides, in percent.
    fn spread(&self, figure: Figure) -> Option<f64> {
        self.known.iter().filter_map(|known| known.of(figure)).reduce(f64::max)
    }
}

/// Returns whether a gate is not refused; prints the refusal if it is.
fn is_allowed(refusal: Option<&str>, gate: &str) -> bool {
    if let Some(why) = refusal {
        screen::eprint_line(&format!("error: {gate} is {why}"));
    }
    refusal.is_none()
}
