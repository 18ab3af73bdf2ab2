//! Checks that an answer fits its question: the probability of each label, and the chosen label.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servemark_core::JsonObject;

use super::EvalscopeApi;
use super::question::{Kind, Question};

/// Returns an error that says why a document does not answer a question, if it does not.
pub(super) fn check(
    document: &JsonObject,
    question: &Question,
    api: EvalscopeApi,
) -> Result<(), String> {
    let model = document.get("model").and_then(Value::as_str);
    if model.is_none_or(str::is_empty) {
        return Err("it does not name the model".to_owned());
    }
    match api {
        EvalscopeApi::Autotrust => check_autotrust(document, question),
        _ => DecisionAnswer::of(document, question)?.check(question),
    }
}

/// `SystemOne`'s answer to a question. Other keys are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionAnswer {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    probabilities: BTreeMap<String, f64>,
    choice: Option<String>,
    noul: Option<f64>,
    score: Option<f64>,
    legend: Option<BTreeMap<String, String>>,
    confidence: Option<f64>,
}

impl DecisionAnswer {
    fn of(document: &JsonObject, question: &Question) -> Result<Self, String> {
        let answers = document.get("answers").and_then(Value::as_object);
        let answers = answers.filter(|answers| answers.len() == 1);
        let answer = answers.and_then(|answers| answers.get("answer"));
        let answer = answer.ok_or("it must hold one answer, named answer")?;
        let mut answer: Self = read(answer)?;
        if let (Kind::Noul, true, Some(yes)) =
            (question.kind, answer.probabilities.is_empty(), answer.noul)
        {
            let both = [("no".to_owned(), 1.0 - yes), ("yes".to_owned(), yes)];
            answer.probabilities.extend(both);
        }
        Ok(answer)
    }

    fn check(&self, question: &Question) -> Result<(), String> {
        let labels: BTreeSet<&String> = question.labels.iter().collect();
        let are_known = self.probabilities.keys().eq(labels);
        if self.kind != question.kind || !are_known {
            return Err("its labels are not those of the question".to_owned());
        }
        let also = [self.noul, self.confidence].into_iter().flatten();
        let values: Vec<f64> = self.probabilities.values().copied().collect();
        check_range(values.iter().copied().chain(also))?;
        let slack = check_sum(&values)?;
        match self.kind {
            Kind::Choice => self.check_choice(&values),
            Kind::Noul => self.check_noul(),
            Kind::Score => self.check_score(question, slack),
        }
    }

    fn check_choice(&self, values: &[f64]) -> Result<(), String> {
        let chosen = self.choice.as_ref().and_then(|choice| self.probabilities.get(choice));
        let chosen = *chosen.ok_or("it chooses none of the labels")?;
        check_best(chosen, values)
    }

    fn check_noul(&self) -> Result<(), String> {
        let yes = self.probabilities.get("yes").copied().unwrap_or_default();
        let message = self.noul.ok_or("it does not say how likely yes is")?;
        let agree = (message - yes).abs() <= SAME;
        agree.then_some(()).ok_or_else(|| "its noul and the probability of yes disagree".to_owned())
    }

    fn check_score(&self, question: &Question, slack: f64) -> Result<(), String> {
        let meanings = question.labels.iter().cloned().zip(question.meanings.iter().cloned());
        if self.legend != Some(meanings.collect()) {
            return Err("its legend is not that of the question".to_owned());
        }
        let most = (question.labels.len() - 1) as f64;
        let levels = (0..).zip(&question.labels);
        let expected: f64 =
            levels.map(|(level, label)| f64::from(level) * self.probabilities[label]).sum();
        let score = self.score.filter(|score| (0.0..=most).contains(score));
        let score = score.ok_or("its score is none of the scale")?;
        let agree = (score - expected).abs() <= slack * most + SAME;
        agree.then_some(()).ok_or_else(|| "its score is not the expected level".to_owned())
    }
}

/// The relevant fields of `AutoTrust`'s answer to a question.
#[derive(Debug, Deserialize)]
struct Ranked {
    kind: Kind,
    effective_kind: Option<Kind>,
    options: Vec<String>,
    probabilities: Vec<f64>,
    choice_index: usize,
    choice: String,
}

fn check_autotrust(document: &JsonObject, question: &Question) -> Result<(), String> {
    let ranked: Ranked = read(&Value::Object(document.clone()))?;
    let kinds = [Some(ranked.kind), ranked.effective_kind];
    if kinds.into_iter().flatten().any(|kind| kind != question.kind) {
        return Err("it answers another kind of question".to_owned());
    }
    let fits =
        ranked.options == options(question) && ranked.probabilities.len() == question.labels.len();
    if !fits {
        return Err("its options are not those of the question".to_owned());
    }
    if ranked.options.get(ranked.choice_index) != Some(&ranked.choice) {
        return Err("its choice and its choice_index disagree".to_owned());
    }
    check_range(ranked.probabilities.iter().copied())?;
    check_best(ranked.probabilities[ranked.choice_index], &ranked.probabilities)?;
    check_sum(&ranked.probabilities).map(drop)
}

/// Returns `AutoTrust`'s names of the labels.
fn options(question: &Question) -> Vec<String> {
    match question.kind {
        Kind::Noul => ["false", "true"].map(str::to_owned).into(),
        _ => question.meanings.clone(),
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn check_range(mut values: impl Iterator<Item = f64>) -> Result<(), String> {
    let beyond = values.find(|value| !(0.0..=1.0).contains(value));
    beyond.map_or(Ok(()), |value| Err(format!("{value} is no probability")))
}

fn check_best(chosen: f64, values: &[f64]) -> Result<(), String> {
    let best = values.iter().copied().fold(0.0, f64::max);
    let is_best = chosen >= best - SAME;
    is_best.then_some(()).ok_or_else(|| "another label is likelier than its choice".to_owned())
}

/// Checks that probabilities add up to one within a tolerance for rounding, and returns the
/// tolerance, which also applies to their mean.
fn check_sum(values: &[f64]) -> Result<f64, String> {
    let (sum, slack): (f64, f64) = (values.iter().sum(), slack(values));
    let is_whole = (sum - 1.0).abs() <= (slack + 1e-12).max(1e-9 * sum.max(1.0)) && sum > 0.0;
    is_whole.then_some(slack).ok_or_else(|| format!("its probabilities sum up to {sum}, not to 1"))
}

/// Returns the tolerance of the sum. It grows with the number of values if all are rounded to two
/// decimals and could add up to one before rounding.
fn slack(values: &[f64]) -> f64 {
    let is_rounded = |value: &f64| format!("{value:.2}").parse() == Ok(*value);
    let least: f64 = values.iter().map(|value| (value - HALF_STEP).max(0.0)).sum();
    let most: f64 = values.iter().map(|value| (value + HALF_STEP).min(1.0)).sum();
    let may_be_whole = least <= 1.0 + 1e-12 && most >= 1.0 - 1e-12;
    if values.iter().all(is_rounded) && may_be_whole {
        USUAL_SLACK.max(values.len() as f64 * HALF_STEP)
    } else {
        USUAL_SLACK
    }
}

const HALF_STEP: f64 = 0.005;

/// The tolerance of the sum of probabilities that are not rounded to two decimals, and the smallest
/// one otherwise.
const USUAL_SLACK: f64 = 0.02;

/// The largest difference of two numbers that should be equal.
const SAME: f64 = 1e-6;
