//! The parts of a model that can be downloaded.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::tokenizer_files;

/// A part of a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ModelPart {
    /// The tokenizer.
    Tokenizer,
    /// The configuration alone, for random weights.
    Shape,
    /// The configuration and the weights, in safetensors.
    Weights,
}

impl ModelPart {
    /// Returns the files of the part; empty if they are not all there.
    pub(crate) fn of<'a>(self, files: &[&'a str]) -> Vec<&'a str> {
        match self {
            Self::Tokenizer => tokenizer_files::tokenizer_files(files),
            _ if !files.contains(&SHAPE) => Vec::new(),
            Self::Shape => vec![SHAPE],
            Self::Weights => with_weights(files),
        }
    }

    /// Whether a folder holds the whole part.
    pub(crate) fn is_in(self, folder: &Path) -> bool {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        !self.of(&names).is_empty() && (self != Self::Weights || is_whole(folder))
    }

    /// Returns the name of the part for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tokenizer => "tokenizer",
            Self::Shape => "config.json",
            Self::Weights => "config.json with safetensors",
        }
    }

    /// Returns advice for a user whose model lacks the part.
    pub(crate) fn cure(self) -> &'static str {
        match self {
            Self::Tokenizer => "give a folder that holds the tokenizer",
            Self::Shape | Self::Weights => {
                "give a folder that holds the model (`server.engine.engine.candle.model`)"
            }
        }
    }
}

/// Returns the weights and their configuration. Some models also have weights in their maker's own
/// layout, which are left out.
fn with_weights<'a>(files: &[&'a str]) -> Vec<&'a str> {
    let is_weight = |file: &&str| file.ends_with(".safetensors") && !file.contains('/');
    let all: Vec<&str> = files.iter().copied().filter(is_weight).collect();
    let usual = |file: &&str| file.starts_with("model");
    let is_usual = all.iter().any(usual);
    let weights: Vec<&str> = all.into_iter().filter(|file| !is_usual || usual(file)).collect();
    if weights.is_empty() {
        return weights;
    }
    let others = files.iter().copied().filter(|file| [SHAPE, INDEX].contains(file));
    others.chain(weights).collect()
}

/// Whether every file that an index names is there.
fn is_whole(folder: &Path) -> bool {
    let Ok(text) = fs::read_to_string(folder.join(INDEX)) else { return true };
    let index: Option<Index> = serde_json::from_str(&text).ok();
    index.is_some_and(|index| index.weight_map.values().all(|file| folder.join(file).is_file()))
}

/// The index of weight files: from the name of each tensor to its file.
#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

const SHAPE: &str = "config.json";
const INDEX: &str = "model.safetensors.index.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_files(part: ModelPart, files: &[&str], expected: &[&str]) {
        assert_eq!(part.of(files), expected);
    }

    #[test]
    fn weights_come_with_their_shape_and_once() {
        let files = [
            "config.json",
            "consolidated.safetensors",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model.safetensors.index.json",
            "onnx/model.safetensors",
            "pytorch_model.bin",
            "tokenizer.json",
        ];
        check_files(ModelPart::Weights, &files, &[files[0], files[4], files[2], files[3]]);
        check_files(ModelPart::Weights, &files[..2], &files[..2]);
        check_files(ModelPart::Shape, &files, &files[..1]);
        check_files(ModelPart::Tokenizer, &files, &[files[0], files[7]]);
    }

    #[test]
    fn half_a_model_is_none() {
        check_files(ModelPart::Weights, &["config.json", "pytorch_model.bin"], &[]);
        check_files(ModelPart::Weights, &["model.safetensors"], &[]);
        check_files(ModelPart::Shape, &["model.safetensors"], &[]);
    }
}
