//! Target for file listings of a hub.

use std::path::{Component, Path};

use servemark::hub::{ModelPart, listed_files};

/// Reads any bytes as a hub's listing: the path of every listed file stays inside the folder of the
/// download.
pub fn hub_listing(bytes: &[u8]) {
    for part in [ModelPart::Tokenizer, ModelPart::Shape, ModelPart::Weights] {
        stays_below(listed_files(bytes, Some(part)));
    }
    stays_below(listed_files(bytes, None));
}

fn stays_below<E: ToString>(files: Result<Vec<String>, E>) {
    match files {
        Ok(files) => {
            for file in files {
                let mut parts = Path::new(&file).components();
                assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{file:?}");
                assert!(!file.contains(['\\', ':', '\0']), "{file:?}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
