//! Data sets of a config: the rows and the prompts made of them.

mod prompt_settings;
mod synthetic;

use std::path::PathBuf;

use servemark_datasets::{
    AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchMediaSpec, AisbenchTemplate,
    AisbenchTraceSpec, AisbenchTurns, MediaForm, ShownLayout,
};

use self::prompt_settings::PromptSettings;
use self::synthetic::synthetic;
use super::python::{Fault, Located, Place};
use super::section::{Section, class, items, text};

/// A data set of a config: the source of its rows, and how prompts are made of them.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) place: Place,
    pub(super) abbr: String,
    /// Names of the data set's class and of its inferencer with its mode. Data sets for which both
    /// are equal are sent as one.
    pub(super) kind: (String, String),
    pub(super) source: AisbenchData,
    pub(super) template: AisbenchTemplate,
    pub(super) answer: Option<String>,
    /// Columns from which a request is made.
    pub(super) columns: Vec<String>,
    /// Zero-based indices of the first row that is sent and of the first row after it that is not;
    /// all rows are sent if absent.
    pub(super) range: Option<(usize, Option<usize>)>,
}

impl Data {
    pub(super) fn of(value: &Located) -> Result<Self, Fault> {
        let mut section = Section::of(value, "a data set")?;
        let data = Self::read(&mut section)?;
        section.finish()?;
        Ok(data)
    }

    fn read(section: &mut Section) -> Result<Self, Fault> {
        let place = section.place.clone();
        let kind = section.require("type")?;
        let mut requested = PromptSettings::of(section.section("infer_cfg", "infer_cfg")?)?;
        let reader = Reader::of(section.section("reader_cfg", "reader_cfg")?)?;
        section.ignore(&["eval_cfg", "trust_remote_code"]);
        let source = source(&kind, section, &mut requested)?;
        Ok(Self {
            abbr: section.word("abbr")?.unwrap_or_else(|| class(&kind).unwrap_or_default()),
            kind: (class(&kind)?, requested.inferencer),
            source,
            template: requested.template,
            answer: reader.answer,
            columns: reader.columns,
            range: reader.range,
            place,
        })
    }

    /// Returns whether drawing the prompts requires a tokenizer.
    pub(super) fn needs_tokenizer(&self) -> bool {
        match &self.source {
            AisbenchData::SyntheticIds(_) | AisbenchData::Trace(_) => true,
            AisbenchData::Conversations(spec) => !spec.mt_bench && self.has_own_lengths(),
            _ => false,
        }
    }

    /// Returns whether each row gives the length of its answer.
    pub(super) fn has_own_lengths(&self) -> bool {
        self.columns.iter().any(|column| column == "max_out_len")
    }

    /// Returns whether each row gives the time at which it is sent.
    pub(super) fn has_times(&self) -> bool {
        self.columns.iter().any(|column| column == "timestamp")
    }

    /// Returns how the turns of the conversations are sent; `None` if the data set has no
    /// conversations.
    pub(super) fn turns(&self) -> Option<AisbenchTurns> {
        match &self.source {
            AisbenchData::Conversations(spec) => Some(spec.turns),
            _ => None,
        }
    }
}

/// Returns the data set of `--custom-dataset-path`. Its prompts show the answer options if
/// `is_choice` is true, or if it is absent and the file has several option columns (`A`, `B`, …).
pub(super) fn of_file(
    path: &str,
    meta: Option<&str>,
    columns: &[String],
    is_choice: Option<bool>,
    place: Place,
) -> Data {
    let letters = ('A'..='Z').map(String::from);
    let options: Vec<String> = letters.take_while(|letter| columns.contains(letter)).collect();
    let has_answer = columns.iter().any(|column| column == "answer");
    let answer = has_answer.then(|| "answer".to_owned());
    let text = if is_choice.unwrap_or(options.len() > 1) {
        let lines = options.iter().map(|letter| format!("\n{letter}. {{{letter}}}"));
        let options = lines.collect::<Vec<_>>().concat();
        format!("Question: {{question}}{options}\nAnswer: {{answer}}")
    } else if has_answer {
        "Question: {question}\nAnswer: {answer}".to_owned()
    } else {
        "{question}".to_owned()
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    Data {
        place,
        abbr: name.split('.').next().unwrap_or(name).to_owned(),
        kind: ("CustomDataset".to_owned(), "GenInferencer".to_owned()),
        source: AisbenchData::Custom(AisbenchCustomSpec::new(
            Some(path.into()),
            meta.map(Into::into),
        )),
        template: AisbenchTemplate::Text(text),
        answer,
        columns: ["question", "max_out_len"].map(str::to_owned).into(),
        range: None,
    }
}

fn source(
    kind: &Located,
    section: &mut Section,
    requested: &mut PromptSettings,
) -> Result<AisbenchData, Fault> {
    let name = class(kind)?;
    if name == "SyntheticDataset" {
        let config = section.require("config")?;
        return synthetic(&config);
    }
    let path = section.word("path")?.map(PathBuf::from);
    Ok(match name.as_str() {
        "ShareGPTDataset" => {
            let mut spec = AisbenchConversations::sharegpt(path, requested.turns);
            spec.shuffled = !section.flag("disable_shuffle")?.unwrap_or_default();
            AisbenchData::Conversations(spec)
        }
        "MTBenchDataset" => {
            AisbenchData::Conversations(AisbenchConversations::mt_bench(path, requested.turns))
        }
        "MMStarDataset" => {
            let form = if requested.sends_base64() { MediaForm::Base64 } else { MediaForm::Path };
            AisbenchData::Shown(AisbenchMediaSpec::new(path, ShownLayout::Mmstar, form))
        }
        "MMCustomDataset" => {
            section.ignore(&["num_frames"]);
            let form = form(section.take("mm_type"), ["path", "base64"])?;
            AisbenchData::Shown(AisbenchMediaSpec::new(path, ShownLayout::Custom, form))
        }
        "TEXTVQADataset" => {
            let form = form(section.take("image_type"), ["image_path", "image_base64"])?;
            AisbenchData::Shown(AisbenchMediaSpec::new(path, ShownLayout::Textvqa, form))
        }
        "MooncakeTraceDataset" => AisbenchData::Trace(trace(path, section)?),
        "CustomDataset" => {
            let file = section.word("file_name")?;
            let path = path.map(|path| file.map_or(path.clone(), |file| path.join(file)));
            let meta = section.word("meta_path")?.map(PathBuf::from);
            AisbenchData::Custom(AisbenchCustomSpec::new(path, meta))
        }
        "GSM8KDataset" => {
            let file = path.map(|folder| folder.join("test.jsonl"));
            AisbenchData::Custom(AisbenchCustomSpec::new(file, None))
        }
        other => return Err(kind.fault(format!("the data set class {other} is not built"))),
    })
}

fn form(value: Option<Located>, words: [&str; 2]) -> Result<MediaForm, Fault> {
    let Some(value) = value else { return Ok(MediaForm::Path) };
    let word = text(&value, "this")?;
    match words.iter().position(|known| *known == word) {
        Some(0) => Ok(MediaForm::Path),
        Some(_) => Ok(MediaForm::Base64),
        None => {
            Err(value.fault(format!("{} or {} is expected here, not {word:?}", words[0], words[1])))
        }
    }
}

fn trace(path: Option<PathBuf>, section: &mut Section) -> Result<AisbenchTraceSpec, Fault> {
    let mut spec = AisbenchTraceSpec {
        path,
        corpus: section.word("corpus_path")?.map(PathBuf::from),
        prompts: section.word("generated_prompts_path")?.map(PathBuf::from),
        seed: section.whole("random_seed", 0, i64::MAX)?,
        from_first: section.flag("fixed_schedule_auto_offset")?.unwrap_or_default(),
        ..AisbenchTraceSpec::default()
    };
    let earliest = section.number("fixed_schedule_start_offset", f64::MIN, f64::MAX)?;
    spec.earliest_ms = earliest.unwrap_or_default();
    let latest = section.number("fixed_schedule_end_offset", f64::MIN, f64::MAX)?;
    spec.latest_ms = latest.filter(|latest| *latest >= 0.0);
    if spec.latest_ms.is_some_and(|latest| latest < spec.earliest_ms) {
        let why = "fixed_schedule_start_offset must not be above fixed_schedule_end_offset";
        return Err(section.place.fault(why));
    }
    Ok(spec)
}

/// The section `reader_cfg` of a data set: the columns and rows that are read.
struct Reader {
    columns: Vec<String>,
    answer: Option<String>,
    range: Option<(usize, Option<usize>)>,
}

impl Reader {
    fn of(section: Option<Section>) -> Result<Self, Fault> {
        let Some(mut section) = section else {
            let columns = ["question", "max_out_len"].map(str::to_owned).into();
            return Ok(Self { columns, answer: None, range: None });
        };
        let columns = section.take("input_columns").map(|list| -> Result<Vec<String>, Fault> {
            items(&list, "input_columns")?.iter().map(|name| text(name, "a column")).collect()
        });
        let reader = Self {
            columns: columns.transpose()?.unwrap_or_default(),
            answer: section.text("output_column")?,
            range: section.take("test_range").map(|value| range(&value)).transpose()?,
        };
        section.ignore(&["train_range", "train_split", "test_split"]);
        section.finish()?;
        Ok(reader)
    }
}

/// Parses a range of rows in Python's slice syntax: `[:100]`, `[10:20]`.
fn range(value: &Located) -> Result<(usize, Option<usize>), Fault> {
    let slice = text(value, "test_range")?;
    let inner = slice.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let ends = inner.and_then(|inner| inner.split_once(':'));
    let number = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
    let read = ends
        .and_then(|(from, until)| Some((number(from.trim()).ok()?, number(until.trim()).ok()?)));
    let (from, until) =
        read.ok_or_else(|| value.fault(format!("test_range must be like [10:20], not {slice:?}")))?;
    Ok((from.unwrap_or_default(), until))
}
