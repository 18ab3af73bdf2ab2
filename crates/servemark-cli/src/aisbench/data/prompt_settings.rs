//! The section `infer_cfg` of a data set: prompt templates, and the turns of conversations.

use serde_json::Value as Json;
use servemark_core::JsonObject;
use servemark_datasets::{AisbenchMessage, AisbenchTemplate, AisbenchTurns, ChatRole};

use crate::aisbench::model::in_order;
use crate::aisbench::python::{Fault, Located, Value};
use crate::aisbench::section::{Section, class, items, json, text};

/// How prompts are made of the rows of a data set.
pub(super) struct PromptSettings {
    pub(super) template: AisbenchTemplate,
    pub(super) turns: AisbenchTurns,
    /// Class name of the inferencer, with its mode at the end if it has one.
    pub(super) inferencer: String,
}

impl PromptSettings {
    pub(super) fn of(section: Option<Section>) -> Result<Self, Fault> {
        let mut requested = Self {
            template: AisbenchTemplate::default(),
            turns: AisbenchTurns::Every,
            inferencer: String::new(),
        };
        let Some(mut section) = section else { return Ok(requested) };
        section.ignore(&["retriever"]);
        if let Some(mut template) = section.section("prompt_template", "prompt_template")? {
            template.ignore(&["type"]);
            let value = template.require("template")?;
            template.finish()?;
            requested.template = self::template(&value)?;
        }
        if let Some(mut inferencer) = section.section("inferencer", "inferencer")? {
            inferencer.ignore(&["stopping_criteria"]);
            let kind = inferencer.take("type").map(|kind| class(&kind)).transpose()?;
            requested.inferencer = kind.unwrap_or_default();
            if let Some(mode) = inferencer.take("infer_mode") {
                requested.turns = turns(&mode)?;
                requested.inferencer += &text(&mode, "infer_mode")?;
            }
            inferencer.finish()?;
        }
        section.finish()?;
        Ok(requested)
    }

    /// Returns whether the template puts pictures into requests as base64 data.
    pub(super) fn sends_base64(&self) -> bool {
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
        Json::Object(parts) => Ok(in_order(parts)),
        _ => Err(value.fault("prompt_mm must be a dict")),
    }
}

fn sayings(list: &Located) -> Result<Vec<AisbenchMessage>, Fault> {
    items(list, "begin")?.iter().map(saying).collect()
}

fn saying(value: &Located) -> Result<AisbenchMessage, Fault> {
    let mut section = Section::of(value, "a saying")?;
    let role = section.require("role")?;
    let fallback = section.text("fallback_role")?;
    let prompt = section.require("prompt").and_then(|prompt| text(&prompt, "prompt"))?;
    section.finish()?;
    let speaker = match (text(&role, "role")?.as_str(), fallback.as_deref()) {
        ("SYSTEM", _) => ChatRole::System,
        ("HUMAN", _) | (_, Some("HUMAN")) => ChatRole::Human,
        ("BOT", _) | (_, Some("BOT")) => ChatRole::Bot,
        (other, _) => {
            return Err(role.fault(format!("role must be HUMAN, BOT or SYSTEM, not {other:?}")));
        }
    };
    Ok(AisbenchMessage::new(speaker, prompt))
}
