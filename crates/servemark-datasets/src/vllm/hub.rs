//! Data sets of the hub by their names: vLLM's `hf`.

mod collection;
mod order;
mod shown;
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

/// A data set of the hub.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VllmHubSpec {
    /// Which one it is.
    pub name: HubDataset,
    /// Where it is on this machine: a folder, or a file. Without it, it is downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Which subset of it, where it has several.
    #[serde(default)]
    pub subset: Option<String>,
    /// Which split; without it, the one that vLLM takes.
    #[serde(default)]
    pub split: Option<String>,
    /// How it is read, which decides how it is shuffled.
    #[serde(default)]
    pub reading: HubReading,
    /// The output length of every request; without it, the data set's own.
    #[serde(default)]
    pub output_tokens: Option<u32>,
    /// Whether prompts are bare texts or rendered conversations, where vLLM renders them.
    #[serde(default = "rendered")]
    pub prompt_format: PromptFormat,
    /// Whether a prompt that shows something is a text or a message.
    #[serde(default)]
    pub shape: PromptShape,
    /// In which order rows are sent.
    #[serde(default)]
    pub order: RowOrder,
    /// What to do if there are too few.
    #[serde(default)]
    pub too_few: TooFewRows,
    /// How much of the code a change may change, for the data sets of edits.
    #[serde(default = "Bounds::shares")]
    pub distance: Bounds,
    /// How long a recording may play, in seconds.
    #[serde(default = "Bounds::any")]
    pub audio_seconds: Bounds,
    /// What the decoder of a speech model begins with.
    #[serde(default)]
    pub speech_prompt: SpeechPrompt,
    /// Which kinds of calls, of the data set of tools; none stands for vLLM's three.
    #[serde(default)]
    pub categories: Vec<String>,
}

/// A range; its bounds belong to it. Without an upper bound, there is none.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bounds {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: Option<f64>,
}

impl Bounds {
    /// From `least` to `most`, if that is finite.
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
    /// The data set of that name, as vLLM reads it by default.
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

    /// The subset and the split that are read.
    pub fn part(&self) -> Result<(Option<&str>, &str), DatasetError> {
        let split = self.split.as_deref().or_else(|| self.name.split()).ok_or_else(|| {
            DatasetError::Settings(format!("name the split of {} with --hf-split", self.name))
        })?;
        let subset = self.subset.as_deref().or_else(|| self.name.subset());
        Ok((subset.filter(|_| !self.name.is_undivided()), split))
    }

    /// The files that it is made of, where it is no table.
    pub fn files(&self) -> Option<Vec<String>> {
        let is_files = self.name.kind() == Kind::Bfcl;
        is_files.then(|| tools::categories(self).into_iter().map(tools::file_of).collect())
    }

    /// Requests with ids that begin with `ids`, where they are not numbered as all are.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        ids: Option<&str>,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let path = self.path.as_deref().ok_or(DatasetError::NoFile {
            dataset: "hf",
            hint: "give the folder of its files with --dataset-path, and its name with --hf-name",
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

    /// The first `count` requests that the shuffled rows give.
    fn walk(
        &self,
        path: &Path,
        count: usize,
        seed: u32,
        ids: Option<&str>,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let (subset, split) = self.part()?;
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
            for asked in parallel::map("making prompts", &rows, context.progress, ask) {
                samples.extend(asked?);
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

    /// Whether requests are numbered by their rows, those counted that are left out.
    fn keeps_places(&self) -> bool {
        self.name.kind() == Kind::Blazedit
    }
}

/// Makes requests of rows.
struct Asker<'a> {
    spec: &'a VllmHubSpec,
    tokenizer: &'a dyn Tokenizer,
    /// Where the data set is.
    folder: &'a Path,
    /// What ids begin with that have the number of their row.
    ids: Option<&'a str>,
}

impl Asker<'_> {
    /// The request of a row in its place.
    fn ask_at(&self, place: usize, row: &Record) -> Result<Option<Sample>, DatasetError> {
        let mut sample = self.ask(row)?;
        if let (Some(sample), Some(ids)) = (&mut sample, self.ids) {
            sample.headers.push(request_id(ids, place));
        }
        Ok(sample)
    }

    /// A row's request; some rows have none.
    fn ask(&self, row: &Record) -> Result<Option<Sample>, DatasetError> {
        match self.spec.name.kind() {
            Kind::MmStar
            | Kind::Mmvu
            | Kind::PicturedConversation
            | Kind::VisionArenaBench
            | Kind::VisionArenaChat => shown::ask(self, row),
            Kind::Speech => speech::ask(self, row),
            _ => text::ask(self, row),
        }
    }

    /// The output length that was asked for, or the data set's own.
    fn output_tokens(&self) -> u32 {
        let own = self.spec.name.kind().output_tokens();
        self.spec.output_tokens.or(own).unwrap_or_default()
    }
}

/// Rows are read so many at a time at least, because some may be left out.
const FEWEST: usize = 64;
