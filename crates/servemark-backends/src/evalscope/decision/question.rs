//! The properties of a question that an answer has to fit.

use serde::Deserialize;
use serde_json::Value;
use servemark_core::JsonObject;

use super::EvalscopeApi;

/// The properties of a question that an answer has to fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) kind: Kind,
    /// The possible labels, in the request's order.
    pub(super) labels: Vec<String>,
    /// The meaning of each label; empty if the labels need no explanation.
    pub(super) meanings: Vec<String>,
}

/// The kind of a question, common to both APIs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A choice of one of several options.
    Choice,
    /// Yes or no, with the probability of yes.
    Noul,
    /// A level of a scale.
    Score,
}

impl Question {
    /// Returns the only question of a request.
    pub(super) fn of(body: &JsonObject, api: EvalscopeApi) -> Result<Self, String> {
        if !body.contains_key("state") {
            return Err("the request has no state".to_owned());
        }
        match api {
            EvalscopeApi::Autotrust => Self::of_autotrust(body),
            _ => Self::of_systemone(body),
        }
    }

    fn of_systemone(body: &JsonObject) -> Result<Self, String> {
        let one = "the request must have one question, named answer";
        let questions = body.get("questions").and_then(Value::as_object);
        let questions = questions.filter(|questions| questions.len() == 1);
        let options = questions.and_then(|questions| questions.get("answer")).ok_or(one)?;
        check_text(options.get("instructions"), "instructions")?;
        Self::new(kind(options.get("type"))?, options.get("criteria"))
    }

    fn of_autotrust(body: &JsonObject) -> Result<Self, String> {
        if body.get("thinking").is_some_and(|thinking| thinking != "off") {
            return Err("a decision is measured with \"thinking\": \"off\"".to_owned());
        }
        check_text(body.get("question"), "question")?;
        match kind(body.get("kind"))? {
            Kind::Choice => {
                let meanings = texts(body.get("options").and_then(Value::as_array))?;
                let labels = (0..meanings.len()).map(|place| place.to_string()).collect();
                Self { kind: Kind::Choice, labels, meanings }.checked(2..=255)
            }
            Kind::Noul => Ok(Self::yes_or_no()),
            Kind::Score => Self::of_levels((0..SCORES).map(|level| level.to_string()).collect()),
        }
    }

    /// Returns a question of this kind, with the labels that its criteria describe.
    fn new(kind: Kind, criteria: Option<&Value>) -> Result<Self, String> {
        let criteria = criteria.filter(|criteria| !criteria.is_null());
        match (kind, criteria) {
            (Kind::Choice, Some(Value::Object(options))) => {
                let meanings = texts(Some(options.values()))?;
                let labels = options.keys().cloned().collect();
                Self { kind, labels, meanings }.checked(2..=255)
            }
            (Kind::Choice, _) => Err("a choice has 2 to 255 named options".to_owned()),
            (Kind::Score, Some(Value::Array(levels))) => Self::of_levels(texts(Some(levels))?),
            (Kind::Score, _) => Err("a score has 2 to 10 levels in order".to_owned()),
            (Kind::Noul, None) => Ok(Self::yes_or_no()),
            (Kind::Noul, Some(Value::Object(sides)))
                if sides.iter().all(|(side, text)| {
                    ["true", "false"].contains(&&**side) && text.is_string()
                }) =>
            {
                Ok(Self::yes_or_no())
            }
            (Kind::Noul, _) => Err("a noul may describe true and false, and no more".to_owned()),
        }
    }

    fn of_levels(meanings: Vec<String>) -> Result<Self, String> {
        let labels = (0..meanings.len()).map(|level| level.to_string()).collect();
        Self { kind: Kind::Score, labels, meanings }.checked(2..=10)
    }

    fn yes_or_no() -> Self {
        let labels = ["no", "yes"].map(str::to_owned).into();
        Self { kind: Kind::Noul, labels, meanings: Vec::new() }
    }

    fn checked(self, sizes: std::ops::RangeInclusive<usize>) -> Result<Self, String> {
        let (least, most) = sizes.clone().into_inner();
        if !sizes.contains(&self.labels.len()) {
            return Err(format!("it has {} labels, not {least} to {most}", self.labels.len()));
        }
        let blank = self.labels.iter().chain(&self.meanings).any(|text| text.trim().is_empty());
        if blank { Err("a label is empty".to_owned()) } else { Ok(self) }
    }
}

/// The number of levels of `AutoTrust`'s scores.
const SCORES: usize = 6;

fn kind(value: Option<&Value>) -> Result<Kind, String> {
    let kind = value.and_then(|value| Kind::deserialize(value).ok());
    kind.ok_or_else(|| "a question is a choice, a noul or a score".to_owned())
}

fn check_text(value: Option<&Value>, key: &str) -> Result<(), String> {
    let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(drop).ok_or_else(|| format!("the question has no text under {key}"))
}

fn texts<'a>(values: Option<impl IntoIterator<Item = &'a Value>>) -> Result<Vec<String>, String> {
    let values = values.into_iter().flatten();
    let texts: Option<_> = values.map(|value| value.as_str().map(str::to_owned)).collect();
    texts.ok_or_else(|| "a label is described by a text".to_owned())
}
