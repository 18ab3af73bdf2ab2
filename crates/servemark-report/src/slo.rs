//! The loads that an SLO search tried: one row each, and curves of latency over load.

use std::io;

use serde::Serialize;
use servemark_metrics::{BacklogTrend, Capacity, Goal, Judgement};

use crate::SweepRow;
use crate::grid::{Grid, GridRows, TableFormat};

/// The loads that a search tried, in order, and its result.
#[derive(Clone, Debug)]
pub struct SloReport<'a> {
    setting: &'a str,
    answer: String,
    tiers: Vec<SloTierAnswer<'a>>,
    rows: Vec<SloRow<'a>>,
}

/// The search result for one tier of objectives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SloTierAnswer<'a> {
    /// Name of the tier; empty if a search has a single unnamed tier.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'a str,
    /// Largest load that holds, if any does.
    pub holds: Option<f64>,
    /// Smallest and largest of the undecided loads between those that hold and those that fail.
    pub undecided: Option<(f64, f64)>,
    /// Smallest load that fails, if any was found.
    pub fails: Option<f64>,
    /// Smallest load that the client could not offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_offered: Option<f64>,
    /// Estimate of the largest load that holds.
    pub capacity: Option<Capacity>,
}

/// A load that was tried. Closed: only a search creates it.
#[derive(Clone, Debug, Serialize)]
pub struct SloRow<'a> {
    /// The load.
    pub value: f64,
    /// Verdict on the load, in one word; with several tiers, that of the first.
    pub verdict: &'static str,
    /// Verdict of each tier, in order.
    pub verdicts: Vec<&'static str>,
    /// Number of rounds at this load.
    pub rounds: usize,
    /// Number of requests that the verdict is based on.
    pub requests: usize,
    /// Verdict on each objective.
    pub judgements: &'a [Judgement],
    /// Trend of the backlog at this load; absent if no backlog grew.
    pub growth: Option<BacklogTrend>,
    /// Metrics of the last round.
    #[serde(flatten)]
    pub point: SweepRow<'a>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    setting: &'a str,
    /// Result of the first tier.
    #[serde(flatten)]
    first: Option<SloTierAnswer<'a>>,
    answer: &'a str,
    tiers: &'a [SloTierAnswer<'a>],
    trials: &'a [SloRow<'a>],
}

const SCHEMA: &str = "servemark/search/1";

impl<'a> SloReport<'a> {
    /// Returns a report of a search along `setting` with the result `answer`, in words, and the loads
    /// of each tier.
    pub fn new(
        setting: &'a str,
        answer: String,
        tiers: impl IntoIterator<Item = SloTierAnswer<'a>>,
        rows: impl IntoIterator<Item = SloRow<'a>>,
    ) -> Self {
        let (tiers, rows) = (tiers.into_iter().collect(), rows.into_iter().collect());
        Self { setting, answer, tiers, rows }
    }

    /// Writes all loads in the given format.
    pub fn write(&self, format: TableFormat, out: &mut dyn io::Write) -> io::Result<()> {
        match format {
            TableFormat::Csv => self.grid().write_csv(out),
            TableFormat::Json => {
                let Self { setting, answer, tiers, rows } = self;
                let first = tiers.first().copied();
                let document =
                    Document { schema: SCHEMA, setting, first, answer, tiers, trials: rows };
                serde_json::to_writer_pretty(&mut *out, &document)?;
                writeln!(out)
            }
            TableFormat::Markdown => {
                self.grid().write_markdown(out)?;
                writeln!(out, "\n{}", self.answer)
            }
        }
    }

    /// Returns the name of the searched setting.
    pub fn setting(&self) -> &'a str {
        self.setting
    }

    /// Returns the result in words, several lines.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Returns the table of all loads.
    pub fn table(&self) -> GridRows {
        self.grid().into_rows()
    }

    fn grid(&self) -> Grid {
        let objectives = self.rows.first().map_or(&[][..], |row| row.judgements);
        let own = objectives.iter().flat_map(heads);
        let heads: Vec<Head> = [Head::of(self.setting)]
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

    /// Returns the rows sorted by load, the smallest first.
    pub fn in_order(&self) -> Vec<&SloRow<'a>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by(|one, other| one.value.total_cmp(&other.value));
        rows
    }
}

impl SloTierAnswer<'_> {
    /// Returns the heading of the tier's verdict column.
    fn head(&self) -> Head {
        match self.name {
            "" => Head::of("verdict"),
            name => Head::new(format!("verdict_{name}"), format!("{name} verdict")),
        }
    }
}

/// Name of a column for programs and for readers.
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

/// Returns the three headings of an objective: its value and both bounds.
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
        let unit = display_factor(judgement);
        [*value, Some(*low), Some(*high)]
            .map(|number| two_decimals(number.map(|number| number * unit)))
    });
    let figures = FIGURES.iter().map(|(_, _, show)| show(&row.point));
    own.map(Some).chain(judged).chain(figures).collect()
}

/// Returns the factor for display: shares are shown in percent.
pub fn display_factor(judgement: &Judgement) -> f64 {
    match judgement.objective.goal {
        Goal::Success { .. } | Goal::Goodput { .. } => 100.0,
        Goal::Latency { .. } => 1.0,
    }
}

fn two_decimals(number: Option<f64>) -> Option<String> {
    number.filter(|number| number.is_finite()).map(|number| format!("{number:.2}"))
}

type Show = fn(&SweepRow<'_>) -> Option<String>;

const FIGURES: [(&str, &str, Show); 4] = [
    ("requests_per_s", "requests/s", |row| two_decimals(row.metrics().throughput.requests_per_s)),
    ("output_tokens_per_s", "output tokens/s", |row| {
        two_decimals(row.metrics().throughput.output_tokens_per_s)
    }),
    ("client_audit", "client audit", |row| Some(row.verdict().to_string())),
    ("run_verdicts", "run verdicts", |row| row.metrics().verdict_names()),
];
