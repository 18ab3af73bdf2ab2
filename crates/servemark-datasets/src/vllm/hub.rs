//! Data sets of the Hugging Face hub by name: vLLM's `hf`.

mod collection;
mod order;
mod picture;
mod speech;
mod text;
mod tools;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Tokenizer, parallel};

pub use self::collection::HubDataset;
use self::collection::Kind;
pub use self::order::HubReading;
pub use self::speech::SpeechPrompt;
use super::rows::{RowOrder, TooFewRows};
use super::{PromptShape, request_id};
use crate::table::{Record, Records};
use crate::{PromptFormat, split_files};

/// A data set of the Hugging Face hub.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct VllmHubSpec {
    /// The data set.
    pub name: HubDataset,
    /// Local path of a folder or file; without it, the data set is downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Subset to read, if the data set has several.
    #[serde(default)]
    pub subset: Option<String>,
    /// Split to read; without it, vLLM's default.
    #[serde(default)]
    pub split: Option<String>,
    /// How the data set is read, which determines how it is shuffled.
    #[serde(default)]
    pub reading: HubReading,
    /// Output length of every request, in tokens; without it, the data set's own.
    #[serde(default)]
    pub output_tokens: Option<u32>,
    /// Whether prompts are raw texts or rendered conversations, for data sets that vLLM renders.
    #[serde(default = "rendered")]
    pub prompt_format: PromptFormat,
    /// Whether a prompt with media is a text or a message.
    #[serde(default)]
    pub shape: PromptShape,
    /// Order in which rows are sent.
    #[serde(default)]
    pub order: RowOrder,
    /// Handling of a data set with too few rows.
    #[serde(default)]
    pub too_few: TooFewRows,
    /// Range of the share of code that an edit changes, for data sets of edits.
    #[serde(default = "Bounds::shares")]
    pub distance: Bounds,
    /// Range of audio durations, in seconds.
    #[serde(default = "Bounds::any")]
    pub audio_seconds: Bounds,
    /// Initial text of a speech model's decoder.
    #[serde(default)]
    pub speech_prompt: SpeechPrompt,
    /// Categories of the tool-calling data set; if empty, vLLM's three defaults are used.
    #[serde(default)]
    pub categories: Vec<String>,
}

/// An inclusive range, with an optional upper bound.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Bounds {
    /// Lower bound.
    pub least: f64,
    /// Upper bound; `None` means unbounded.
    pub most: Option<f64>,
}

impl Bounds {
    /// Creates a range from `least` to `most`, or without upper bound if `most` is not finite.
    pub fn new(least: f64, most: f64) -> Self {
        Self { least, most: most.is_finite().then_some(most) }
    }

    fn shares() -> Self {
        Self::new(0.0, 1.0)
    }

    fn any() -> Self {
        Self::new(0.0, f64::INFINITY)
    }

    fn hold(self, number: f64) -> bool {
        number >= self.least && self.most.is_none_or(|most| number <= most)
    }
}

const fn rendered() -> PromptFormat {
    PromptFormat::ChatTemplate
}

impl VllmHubSpec {
    /// Returns whether every prompt is rendered with the chat template.
    pub(crate) fn renders(&self) -> bool {
        match self.name.kind() {
            Kind::MlPerf => true,
            Kind::Blazedit
            | Kind::Gsm8k
            | Kind::HumanEval
            | Kind::InstructCoder
            | Kind::MtBench => self.prompt_format.is_rendered(),
            _ => false,
        }
    }

    /// Creates a spec with vLLM's defaults for the data set.
    pub fn new(name: HubDataset) -> Self {
        Self {
            name,
            path: None,
            subset: None,
            split: None,
            reading: HubReading::default(),
            output_tokens: None,
            prompt_format: rendered(),
            shape: PromptShape::default(),
            order: RowOrder::default(),
            too_few: TooFewRows::default(),
            distance: Bounds::shares(),
            audio_seconds: Bounds::any(),
            speech_prompt: SpeechPrompt::default(),
            categories: Vec::new(),
        }
    }

    /// Returns the subset and the split to read.
    pub fn part(&self) -> Result<(Option<&str>, &str), DatasetError> {
        let split = self.split.as_deref().or_else(|| self.name.split()).ok_or_else(|| {
            DatasetError::Settings(format!(
                "name the split of {} with `workload.dataset.split`",
                self.name
            ))
        })?;
        let subset = self.subset.as_deref().or_else(|| self.name.subset());
        Ok((subset.filter(|_| !self.name.is_undivided()), split))
    }

    /// Returns the names of the data set's files, or `None` if it is a table.
    pub fn files(&self) -> Option<Vec<String>> {
        let is_files = self.name.kind() == Kind::Bfcl;
        is_files.then(|| tools::categories(self).into_iter().map(tools::file_of).collect())
    }

    /// Draws requests. Request ids with the prefix `ids` are added only for data sets that are
    /// numbered by row; all others are numbered by the caller.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        ids: Option<&str>,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let path = self.path.as_deref().ok_or(DatasetError::NoFile {
            dataset: "hf",
            hint: "give the folder of its files with `workload.dataset.path`, and its name with `workload.dataset.name`",
        })?;
        let mut samples = if self.name.kind() == Kind::Bfcl {
            tools::draw(self, path, count, seed, context)?
        } else {
            self.walk(path, count, seed, ids, context)?
        };
        let found = samples.len();
        let python = &mut context.random.python;
        self.too_few.fill(&mut samples, count, seed, python);
        if let Some(ids) = ids.filter(|_| self.keeps_places()) {
            for (number, sample) in samples.iter_mut().enumerate().skip(found) {
                sample.headers = vec![request_id(ids, number)];
            }
        }
        Ok(samples)
    }

    /// Returns the first `count` requests of the ordered rows.
    fn walk(
        &self,
        path: &Path,
        count: usize,
        seed: u32,
        ids: Option<&str>,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let (subset, split) = self.part()?;
        if let Some(name) = self.subset.as_deref().filter(|name| subset == Some(name)) {
            check_subset(path, name)?;
        }
        let files = split_files::of_split(path, subset, split)?;
        let records = Records::open(&files, self.name.kind().columns())?;
        let order = self.order(&records.lengths(), seed);
        let ids = ids.filter(|_| self.keeps_places());
        let asker = Asker { spec: self, tokenizer: context.tokenizer, folder: path, ids };
        let at_once = count.max(FEWEST);
        let mut samples: Vec<Sample> = Vec::new();
        for (turn, rows) in order.chunks(at_once).enumerate() {
            if samples.len() >= count {
                break;
            }
            let rows: Vec<_> = (turn * at_once..).zip(records.read(rows)?).collect();
            let ask = |(place, row): &(usize, Record)| asker.ask_at(*place, row);
            for drafts in parallel::map("making prompts", &rows, context.progress, ask) {
                samples.extend(drafts?);
            }
        }
        samples.truncate(count);
        Ok(samples)
    }

    fn order(&self, files: &[usize], seed: u32) -> Vec<usize> {
        match self.order {
            RowOrder::Shuffled => self.reading.shuffled(files, seed),
            RowOrder::AsRead => (0..files.iter().sum()).collect(),
        }
    }

    /// Returns whether request ids are numbered by row, counting rows that are left out.
    fn keeps_places(&self) -> bool {
        self.name.kind() == Kind::Blazedit
    }
}

/// Converts rows to requests.
struct Asker<'a> {
    spec: &'a VllmHubSpec,
    tokenizer: &'a dyn Tokenizer,
    /// Local path of the data set.
    folder: &'a Path,
    /// Prefix of request ids that are numbered by row.
    ids: Option<&'a str>,
}

impl Asker<'_> {
    /// Builds the request of a row and numbers it by the row's position.
    fn ask_at(&self, place: usize, row: &Record) -> Result<Option<Sample>, DatasetError> {
        let mut sample = self.ask(row)?;
        if let (Some(sample), Some(ids)) = (&mut sample, self.ids) {
            sample.headers.push(request_id(ids, place));
        }
        Ok(sample)
    }

    /// Builds a row's request, or returns `None` if the row is left out.
    fn ask(&self, row: &Record) -> Result<Option<Sample>, DatasetError> {
        match self.spec.name.kind() {
            Kind::MmStar
            | Kind::Mmvu
            | Kind::PicturedConversation
            | Kind::VisionArenaBench
            | Kind::VisionArenaChat => picture::ask(self, row),
            Kind::Speech => speech::ask(self, row),
            _ => text::ask(self, row),
        }
    }

    /// Returns the requested output length, or the data set's own.
    fn output_tokens(&self) -> u32 {
        let own = self.spec.name.kind().output_tokens();
        self.spec.output_tokens.or(own).unwrap_or_default()
    }
}

/// Minimum number of rows read at a time, because some may be left out.
const FEWEST: usize = 64;

/// Returns an error if the requested subset does not exist. A data set without subsets counts as
/// one named `default`.
fn check_subset(path: &Path, name: &str) -> Result<(), DatasetError> {
    if path.is_file() || name == "default" || path.join(name).is_dir() {
        return Ok(());
    }
    let place = path.display();
    Err(DatasetError::Settings(format!(
        "`workload.dataset.subset` {name}: {place} has no folder of that name"
    )))
}
