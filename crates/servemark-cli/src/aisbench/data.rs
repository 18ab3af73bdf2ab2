//! A data set of a config: what is sent.

use std::path::PathBuf;

use serde_json::Value as Json;
use servemark_core::JsonObject;
use servemark_datasets::{
    AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchIdsSpec, AisbenchLengths,
    AisbenchShownSpec, AisbenchTemplate, AisbenchTextSpec, AisbenchTraceSpec, AisbenchTurns,
    MediaForm, Saying, ShownLayout, Speaker,
};

use super::python::{Fault, Located, Place, Value};
use super::section::{Section, class, items, json, text, whole};

/// A data set and what is made of its rows.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) place: Place,
    pub(super) abbr: String,
    pub(super) source: AisbenchData,
    pub(super) template: AisbenchTemplate,
    pub(super) answer: Option<String>,
    /// The columns that a request is made of.
    pub(super) columns: Vec<String>,
    /// The rows that are sent, if not all are.
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
        let mut asked = Asked::of(section.section("infer_cfg", "infer_cfg")?)?;
        let reader = Reader::of(section.section("reader_cfg", "reader_cfg")?)?;
        section.ignore(&["eval_cfg", "trust_remote_code"]);
        let source = source(&kind, section, &mut asked)?;
        Ok(Self {
            abbr: section.word("abbr")?.unwrap_or_else(|| class(&kind).unwrap_or_default()),
            source,
            template: asked.template,
            answer: reader.answer,
            columns: reader.columns,
            range: reader.range,
            place,
        })
    }

    /// Whether drawing it takes a tokenizer.
    pub(super) fn needs_tokenizer(&self) -> bool {
        match &self.source {
            AisbenchData::SyntheticIds(_) | AisbenchData::Trace(_) => true,
            AisbenchData::Conversations(spec) => !spec.mt_bench && self.has_own_lengths(),
            _ => false,
        }
    }

    /// Whether its rows say how long answers are to be.
    pub(super) fn has_own_lengths(&self) -> bool {
        self.columns.iter().any(|column| column == "max_out_len")
    }

    /// Whether its rows say when they are sent.
    pub(super) fn has_times(&self) -> bool {
        self.columns.iter().any(|column| column == "timestamp")
    }

    /// How the turns of its conversations are asked, if it has any.
    pub(super) fn turns(&self) -> Option<AisbenchTurns> {
        match &self.source {
            AisbenchData::Conversations(spec) => Some(spec.turns),
            _ => None,
        }
    }
}

/// A file of one's own, as the command line names it.
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

fn source(kind: &Located, section: &mut Section, asked: &mut Asked) -> Result<AisbenchData, Fault> {
    let name = class(kind)?;
    if name == "SyntheticDataset" {
        let config = section.require("config")?;
        return synthetic(&config);
    }
    let path = section.word("path")?.map(PathBuf::from);
    Ok(match name.as_str() {
        "ShareGPTDataset" => {
            let mut spec = AisbenchConversations::sharegpt(path, asked.turns);
            spec.shuffled = !section.flag("disable_shuffle")?.unwrap_or_default();
            AisbenchData::Conversations(spec)
        }
        "MTBenchDataset" => {
            AisbenchData::Conversations(AisbenchConversations::mt_bench(path, asked.turns))
        }
        "MMStarDataset" => {
            let form = if asked.sends_base64() { MediaForm::Base64 } else { MediaForm::Path };
            AisbenchData::Shown(AisbenchShownSpec::new(path, ShownLayout::Mmstar, form))
        }
        "MMCustomDataset" => {
            section.ignore(&["num_frames"]);
            let form = form(section.take("mm_type"), ["path", "base64"])?;
            AisbenchData::Shown(AisbenchShownSpec::new(path, ShownLayout::Custom, form))
        }
        "TEXTVQADataset" => {
            let form = form(section.take("image_type"), ["image_path", "image_base64"])?;
            AisbenchData::Shown(AisbenchShownSpec::new(path, ShownLayout::Textvqa, form))
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
    let mut spec = AisbenchTraceSpec::default();
    spec.path = path;
    spec.corpus = section.word("corpus_path")?.map(PathBuf::from);
    spec.prompts = section.word("generated_prompts_path")?.map(PathBuf::from);
    spec.seed = section.whole("random_seed", 0, i64::MAX)?;
    spec.from_first = section.flag("fixed_schedule_auto_offset")?.unwrap_or_default();
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

fn synthetic(config: &Located) -> Result<AisbenchData, Fault> {
    let mut section = Section::of(config, "the config of synthetic prompts")?;
    let kind = section.require("Type")?;
    let word = text(&kind, "Type")?.to_lowercase();
    let rows = section.require("RequestCount").and_then(|value| count(&value, "RequestCount"))?;
    section.ignore(&["TrustRemoteCode", "ModelPath"]);
    let texts = section.section("StringConfig", "StringConfig")?;
    let ids = section.section("TokenIdConfig", "TokenIdConfig")?;
    let place = section.place.clone();
    section.finish()?;
    let missing = |key: &str| place.fault(format!("prompts of the type {word:?} need {key}"));
    match word.as_str() {
        "string" => {
            let mut texts = texts.ok_or_else(|| missing("StringConfig"))?;
            let input = lengths(&texts.require("Input")?)?;
            let output = lengths(&texts.require("Output")?)?;
            texts.finish()?;
            Ok(AisbenchData::SyntheticText(AisbenchTextSpec::new(rows, input, output)))
        }
        "tokenid" => {
            let mut ids = ids.ok_or_else(|| missing("TokenIdConfig"))?;
            let size = ids.require("RequestSize").and_then(|value| count(&value, "RequestSize"))?;
            let prefix = ids.whole("PrefixLen", 0, size.into())?.unwrap_or_default();
            let mut spec = AisbenchIdsSpec::new(rows, size, prefix);
            spec.vocabulary = ids.whole("VocabSize", 1, u32::MAX.into())?;
            ids.finish()?;
            Ok(AisbenchData::SyntheticIds(spec))
        }
        _ => Err(kind.fault("Type must be string or tokenid")),
    }
}

fn lengths(value: &Located) -> Result<AisbenchLengths, Fault> {
    let mut section = Section::of(value, "a distribution of lengths")?;
    let method = section.require("Method")?;
    let params = section.require("Params")?;
    section.finish()?;
    let mut params = Section::of(&params, "the Params of a distribution")?;
    let bound =
        |params: &mut Section, key: &str| params.require(key).and_then(|value| count(&value, key));
    let (min, max) = (bound(&mut params, "MinValue")?, bound(&mut params, "MaxValue")?);
    if min > max {
        return Err(params.place.fault(format!("MinValue {min} is above MaxValue {max}")));
    }
    let mut number = |key: &str, least: f64, most: f64| {
        let missing = params.place.fault(format!("the distribution needs {key}"));
        params.number(key, least, most)?.ok_or(missing)
    };
    let lengths = match text(&method, "Method")?.as_str() {
        "uniform" => AisbenchLengths::Uniform { min, max },
        "gaussian" => AisbenchLengths::Gaussian {
            mean: number("Mean", -LARGEST, LARGEST)?,
            variance: number("Var", 0.0, LARGEST)?,
            min,
            max,
        },
        "zipf" => AisbenchLengths::Zipf { alpha: number("Alpha", JUST_ABOVE_ONE, 10.0)?, min, max },
        other => {
            let why = format!("Method must be uniform, gaussian or zipf, not {other:?}");
            return Err(method.fault(why));
        }
    };
    params.finish()?;
    Ok(lengths)
}

/// A number of tokens or of rows.
fn count(value: &Located, key: &str) -> Result<u32, Fault> {
    whole(value, key, 1, 1 << 20)
}

const LARGEST: f64 = 3.0e38;
const JUST_ABOVE_ONE: f64 = 1.0 + f64::EPSILON;

/// What is read of a row.
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

/// `[:100]` or `[10:20]`, as Python slices.
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

/// How a row is asked.
struct Asked {
    template: AisbenchTemplate,
    turns: AisbenchTurns,
}

impl Asked {
    fn of(section: Option<Section>) -> Result<Self, Fault> {
        let mut asked = Self { template: AisbenchTemplate::default(), turns: AisbenchTurns::Every };
        let Some(mut section) = section else { return Ok(asked) };
        section.ignore(&["retriever"]);
        if let Some(mut template) = section.section("prompt_template", "prompt_template")? {
            template.ignore(&["type"]);
            let value = template.require("template")?;
            template.finish()?;
            asked.template = self::template(&value)?;
        }
        if let Some(mut inferencer) = section.section("inferencer", "inferencer")? {
            inferencer.ignore(&["type", "stopping_criteria"]);
            if let Some(mode) = inferencer.take("infer_mode") {
                asked.turns = turns(&mode)?;
            }
            inferencer.finish()?;
        }
        section.finish()?;
        Ok(asked)
    }

    fn sends_base64(&self) -> bool {
        let AisbenchTemplate::Parts(parts) = &self.template else { return false };
        parts.get("image").is_some_and(|part| part.to_string().contains(";base64,"))
    }
}

fn turns(mode: &Located) -> Result<AisbenchTurns, Fault> {
    match text(mode, "infer_mode")?.as_str() {
        "every" => Ok(AisbenchTurns::Every),
        "last" => Ok(AisbenchTurns::Last),
        "every_with_gt" => Ok(AisbenchTurns::EveryWithAnswers),
        other => {
            Err(mode
                .fault(format!("infer_mode must be every, last or every_with_gt, not {other:?}")))
        }
    }
}

fn template(value: &Located) -> Result<AisbenchTemplate, Fault> {
    if let Value::Text(text) = &value.value {
        return Ok(AisbenchTemplate::Text(text.clone()));
    }
    let mut section = Section::of(value, "a template")?;
    let begin = section.take("begin").map(|list| sayings(&list)).transpose()?.unwrap_or_default();
    let round = items(&section.require("round")?, "round")?;
    section.finish()?;
    if let [only] = round.as_slice() {
        let mut only = Section::of(only, "a round")?;
        if let Some(parts) = only.take("prompt_mm") {
            return Ok(AisbenchTemplate::Parts(parts_of(&parts)?));
        }
    }
    let round = round.iter().map(saying).collect::<Result<_, _>>()?;
    Ok(AisbenchTemplate::Rounds { begin, round })
}

fn parts_of(value: &Located) -> Result<JsonObject, Fault> {
    match json(value)? {
        Json::Object(parts) => Ok(parts),
        _ => Err(value.fault("prompt_mm must be a dict")),
    }
}

fn sayings(list: &Located) -> Result<Vec<Saying>, Fault> {
    items(list, "begin")?.iter().map(saying).collect()
}

fn saying(value: &Located) -> Result<Saying, Fault> {
    let mut section = Section::of(value, "a saying")?;
    let role = section.require("role")?;
    let fallback = section.text("fallback_role")?;
    let prompt = section.require("prompt").and_then(|prompt| text(&prompt, "prompt"))?;
    section.finish()?;
    let speaker = match (text(&role, "role")?.as_str(), fallback.as_deref()) {
        ("SYSTEM", _) => Speaker::System,
        ("HUMAN", _) | (_, Some("HUMAN")) => Speaker::Human,
        ("BOT", _) | (_, Some("BOT")) => Speaker::Bot,
        (other, _) => {
            return Err(role.fault(format!("role must be HUMAN, BOT or SYSTEM, not {other:?}")));
        }
    };
    Ok(Saying::new(speaker, prompt))
}
