//! A model's weights, read from files or random.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor, safetensors};
use serde::Deserialize;
use servemark_rng::Pcg64;

use super::config::json;
use super::error::{CandleError, Loading};

/// A source of tensors; each tensor is taken once.
pub(super) enum Weights {
    /// Tensors read from files.
    Read(HashMap<String, Tensor>),
    /// Random tensors, generated on request; requests always come in the same order.
    Dummy { seed: u64 },
}

impl Weights {
    /// Reads all weights of the model in a folder.
    pub(super) fn read(folder: &Path) -> Loading<Self> {
        let mut tensors = HashMap::new();
        for path in files(folder)? {
            tensors.extend(safetensors::load(path, &Device::Cpu)?);
        }
        Ok(Self::Read(tensors))
    }

    /// Returns a source of random weights.
    pub(super) fn dummy(seed: u64) -> Self {
        Self::Dummy { seed }
    }

    /// Takes a matrix or vector of this shape.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Loading<Tensor> {
        match self {
            Self::Read(tensors) => take_tensor(tensors, name, shape),
            Self::Dummy { seed } => {
                *seed = seed.wrapping_add(1);
                Ok(Tensor::from_vec(noise(*seed, shape.iter().product()), shape, &Device::Cpu)?)
            }
        }
    }

    /// Takes the scale of a norm. A random model has scales of one, which change nothing.
    pub(super) fn scale(&mut self, name: &str, size: usize) -> Loading<Tensor> {
        match self {
            Self::Read(tensors) => take_tensor(tensors, name, &[size]),
            Self::Dummy { .. } => Ok(Tensor::ones(size, DType::F32, &Device::Cpu)?),
        }
    }
}

fn take_tensor(
    tensors: &mut HashMap<String, Tensor>,
    name: &str,
    shape: &[usize],
) -> Loading<Tensor> {
    let missing = || CandleError::Missing { name: name.to_owned() };
    let tensor = tensors.remove(name).ok_or_else(missing)?;
    if tensor.dims() != shape {
        let (found, expected) = (tensor.dims().to_vec(), shape.to_vec());
        return Err(CandleError::Shape { name: name.to_owned(), found, expected });
    }
    Ok(tensor.to_dtype(DType::F32)?)
}

/// Returns uniform random numbers with a standard deviation of 0.02, which is usual for trained
/// weights.
fn noise(seed: u64, count: usize) -> Vec<f32> {
    const HALF_WIDTH: f64 = 0.02 * 1.732_050_807_568_877_2;
    let mut random = Pcg64::seeded(seed);
    (0..count).map(|_| ((random.random() * 2.0 - 1.0) * HALF_WIDTH) as f32).collect()
}

/// Returns the paths of the files that hold a model's weights.
fn files(folder: &Path) -> Loading<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    let names: BTreeSet<String> = if index.exists() {
        json::<Index>(&index)?.weight_map.into_values().collect()
    } else {
        names(folder)?
    };
    if names.is_empty() {
        return Err(CandleError::NoWeights { folder: folder.to_owned() });
    }
    if let Some(name) = names.iter().find(|name| !is_file_name(name)) {
        let what = format!("its index names {name:?}, which is no file of its folder");
        return Err(CandleError::Unsupported { path: index, what });
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Whether a name from the index is a plain file name, which cannot lead out of the folder.
fn is_file_name(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|whole| whole == name) && !name.contains(['\\', ':'])
}

fn names(folder: &Path) -> Loading<BTreeSet<String>> {
    let failed = |source| CandleError::File { path: folder.to_owned(), source };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".safetensors") {
            names.insert(name);
        }
    }
    Ok(names)
}

/// The index of weight files: from the name of each tensor to its file.
#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_names_files_of_other_folders_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../evil.safetensors", "/evil.safetensors", "a/b.safetensors", "..", "a\\b"] {
            let index = serde_json::json!({"weight_map": {"w": name}}).to_string();
            std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
            let error = files(folder.path()).unwrap_err().to_string();
            assert!(error.contains("which is no file of its folder"), "{name}: {error}");
        }
        let index = r#"{"weight_map": {"w": "model-1.safetensors"}}"#;
        std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
        assert_eq!(files(folder.path()).unwrap(), [folder.path().join("model-1.safetensors")]);
    }
}
