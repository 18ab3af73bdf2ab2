//! Reads a file into a document.

use std::path::Path;

use serde_json::Value;

use super::{PlanFormat, toml};
use crate::argparse::yaml_document;
use crate::environment::Environment;

/// Returns the document of a file, in the language that its name tells. An error does not name the
/// file.
pub(crate) fn read(path: &Path, environment: &Environment) -> Result<Value, String> {
    let format = PlanFormat::of(path)
        .ok_or("has no ending that tells its language: name it .toml, .yaml or .json")?;
    let name = path.to_str().ok_or("has a name that is not UTF-8")?;
    let text = environment.read(name).map_err(|error| format!("cannot be read: {error}"))?;
    let document = match format {
        PlanFormat::Json => {
            serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))?
        }
        PlanFormat::Toml => toml::read(&text)?,
        PlanFormat::Yaml => yaml_document(&text)?,
    };
    if document.is_object() { Ok(document) } else { Err("holds no keys".to_owned()) }
}
