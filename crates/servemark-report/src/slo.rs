//! The loads that a search tried: a row each, and how latency climbs to its limit.

mod page;

use std::io;

use serde::Serialize;
use servemark_metrics::{Capacity, Goal, Growth, Judgement};

use crate::grid::Grid;
use crate::{GridFormat, SweepRow};

/// The loads that a search tried, in their order, and what it found.
#[derive(Clone, Debug)]
pub struct SloReport<'a> {
    knob: &'a str,
    answer: String,
    tiers: Vec<SloTierAnswer<'a>>,
    rows: Vec<SloRow<'a>>,
}

/// The answer of one tier of objectives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SloTierAnswer<'a> {
    /// The name of the tier; empty where a search has only one without a name.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'a str,
    /// The largest load that holds, if any does.
    pub holds: Option<f64>,
    /// The smallest and the largest load between those that hold and those that fail of which nobody
    /// can say.
    pub undecided: Option<(f64, f64)>,
    /// The smallest load that fails, if any was found.
    pub fails: Option<f64>,
    /// The smallest load that the client could not offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_offered: Option<f64>,
    /// The estimate of the largest load that holds.
    pub capacity: Option<Capacity>,
}

/// A load that was tried. Closed: it is made by whoever searched.
#[derive(Clone, Debug, Serialize)]
pub struct SloRow<'a> {
    /// The load.
    pub value: f64,
    /// What it comes to, in a word: in the first tier, where there are several.
    pub verdict: &'static str,
    /// What it comes to in each tier, in their order.
    pub verdicts: Vec<&'static str>,
    /// In how many rounds it was run.
    pub rounds: usize,
    /// By how many requests it was judged.
    pub requests: usize,
    /// What they show of each objective.
    pub judgements: &'a [Judgement],
    /// Whether a backlog grew.
    pub growth: Option<Growth>,
    /// The numbers of the last round.
    #[serde(flatten)]
    pub point: SweepRow<'a>,
}

#[derive(Serialize)]
struct Document<'a> {
    knob: &'a str,
    /// The answer of the first tier.
    #[serde(flatten)]
    first: Option<SloTierAnswer<'a>>,
    answer: &'a str,
    tiers: &'a [SloTierAnswer<'a>],
    trials: &'a [SloRow<'a>],
}

impl<'a> SloReport<'a> {
    /// A report of a search along `knob` that found `answer`, in words, and for each tier its loads.
    pub fn new(
        knob: &'a str,
        answer: String,
        tiers: impl IntoIterator<Item = SloTierAnswer<'a>>,
        rows: impl IntoIterator<Item = SloRow<'a>>,
    ) -> Self {
        let (tiers, rows) = (tiers.into_iter().collect(), rows.into_iter().collect());
        Self { knob, answer, tiers, rows }
    }

    /// Writes all loads in a form.
    pub fn write(&self, format: GridFormat, out: &mut dyn io::Write) -> io::Result<()> {
        match format {
            GridFormat::Csv => self.grid().write_csv(out),
            GridFormat::Html => page::write(self, out),
            GridFormat::Json => {
                let Self { knob, answer, tiers, rows } = self;
                let first = tiers.first().copied();
                let document = Document { knob, first, answer, tiers, trials: rows };
                serde_json::to_writer_pretty(&mut *out, &document)?;
                writeln!(out)
            }
            GridFormat::Markdown => {
                self.grid().write_markdown(out)?;
                writeln!(out, "\n{}", self.answer)
            }
        }
    }

    fn grid(&self) -> Grid {
        let objectives = self.rows.first().map_or(&[][..], |row| row.judgements);
        let own = objectives.iter().flat_map(heads);
        let heads: Vec<Head> = [Head::of(self.knob)]
            .into_iter()
            .chain(self.tiers.iter().map(SloTierAnswer::head))
            .chain([Head::of("rounds"), Head::of("requests")])
            .chain(own)
            .chain(FIGURES.iter().map(|(key, words, _)| Head::new(*key, *words)))
            .collect();
        Grid {
            keys: heads.iter().map(|head| head.key.clone()).collect(),
            words: heads.iter().map(|head| head.words.clone()).collect(),
            rows: self.in_order().into_iter().map(cells).collect(),
        }
    }

    /// From the smallest load to the largest.
    fn in_order(&self) -> Vec<&SloRow<'a>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by(|one, other| one.value.total_cmp(&other.value));
        rows
    }
}

impl SloTierAnswer<'_> {
    /// The column of its verdicts.
    fn head(&self) -> Head {
        match self.name {
            "" => Head::of("verdict"),
            name => Head::new(format!("verdict_{name}"), format!("{name} verdict")),
        }
    }
}

/// A column's name for programs and for people.
struct Head {
    key: String,
    words: String,
}

impl Head {
    fn of(word: &str) -> Self {
        Self::new(word, word)
    }

    fn new(key: impl Into<String>, words: impl Into<String>) -> Self {
        Self { key: key.into(), words: words.into() }
    }
}

/// An objective has the sample's own value and the bounds.
fn heads(judgement: &Judgement) -> [Head; 3] {
    let text = judgement.objective.to_string();
    let subject = text.split(['<', '>']).next().unwrap_or_default().replace(':', "_");
    let low = Head::new(format!("{subject}_low"), "at least");
    [Head::new(subject.clone(), text), low, Head::new(format!("{subject}_high"), "at most")]
}

fn cells(row: &SloRow<'_>) -> Vec<Option<String>> {
    let own = [row.value.to_string()]
        .into_iter()
        .chain(row.verdicts.iter().map(|verdict| (*verdict).to_owned()))
        .chain([row.rounds.to_string(), row.requests.to_string()]);
    let judged = row.judgements.iter().flat_map(|judgement| {
        let Judgement { value, low, high, .. } = judgement;
        let unit = unit(judgement);
        [*value, Some(*low), Some(*high)].map(|number| shown(number.map(|number| number * unit)))
    });
    let figures = FIGURES.iter().map(|(_, _, show)| show(&row.point));
    own.map(Some).chain(judged).chain(figures).collect()
}

/// Shares are shown in percent.
fn unit(judgement: &Judgement) -> f64 {
    match judgement.objective.goal {
        Goal::Success { .. } | Goal::Goodput { .. } => 100.0,
        _ => 1.0,
    }
}

fn shown(number: Option<f64>) -> Option<String> {
    number.filter(|number| number.is_finite()).map(|number| format!("{number:.2}"))
}

type Show = fn(&SweepRow<'_>) -> Option<String>;

const FIGURES: [(&str, &str, Show); 3] = [
    ("requests_per_s", "requests/s", |row| shown(row.metrics().throughput.requests_per_s)),
    ("output_tokens_per_s", "output tokens/s", |row| {
        shown(row.metrics().throughput.output_tokens_per_s)
    }),
    ("client_audit", "client audit", |row| Some(row.verdict().to_string())),
];
