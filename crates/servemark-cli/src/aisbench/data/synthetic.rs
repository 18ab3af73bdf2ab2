//! Settings of synthetic prompts in a config.

use servemark_datasets::{AisbenchData, AisbenchIdsSpec, AisbenchLengths, AisbenchTextSpec};

use crate::aisbench::python::{Fault, Located};
use crate::aisbench::section::{Section, text, whole};

pub(super) fn synthetic(config: &Located) -> Result<AisbenchData, Fault> {
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

/// Parses a number of tokens or rows, from 1 to 1,048,576.
fn count(value: &Located, key: &str) -> Result<u32, Fault> {
    whole(value, key, 1, 1 << 20)
}

const LARGEST: f64 = 3.0e38;
const JUST_ABOVE_ONE: f64 = 1.0 + f64::EPSILON;
