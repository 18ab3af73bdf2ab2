//! The licences of the third-party crates in the program: a list, and the texts of their packages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;

use super::shipped::{Crate, Shipped};

/// Returns the list with the texts; equal texts stand once.
pub(super) fn text(shipped: &Shipped) -> anyhow::Result<String> {
    let mut list = String::from(
        "The program is linked from these crates, and from Rust's standard library (MIT OR \
         Apache-2.0).\nThe source of each is at its address, and in its package at crates.io. The \
         texts of the\nlicenses follow.\n\n",
    );
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in shipped.crates.iter().filter(|one| one.checksum.is_some()) {
        let name = format!("{} {}", one.name, one.version);
        let source = one.manifest["repository"].as_str().unwrap_or_default();
        let texts = licence_texts(one)?;
        let note = if texts.is_empty() { "; its package has no license text" } else { "" };
        writeln!(list, "{name}: {}; {source}{note}", one.licence())?;
        for text in texts {
            users.entry(text).or_default().push(name.clone());
        }
    }
    let mut users: Vec<(String, Vec<String>)> = users.into_iter().collect();
    users.sort_by(|one, other| one.1.cmp(&other.1));
    for (text, users) in users {
        write!(list, "\n{}\n{}:\n\n{text}\n", "-".repeat(80), users.join(", "))?;
    }
    Ok(list)
}

/// Beginnings of the names of files with a licence, in upper case.
const NAMES: [&str; 6] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE", "UNLICENSE"];

/// Returns the texts of the licences in a crate's package, without space around them.
fn licence_texts(one: &Crate) -> anyhow::Result<Vec<String>> {
    let manifest = one.manifest["manifest_path"].as_str().context("a crate without a manifest")?;
    let folder = Path::new(manifest).parent().context("a manifest without a folder")?;
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|known| name.starts_with(known)) {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path| Ok(String::from_utf8_lossy(&std::fs::read(path)?).trim().to_owned());
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_texts_stand_once_with_the_crates_that_have_them() {
        let folder = std::env::temp_dir().join(format!("xtask-licences-{}", std::process::id()));
        let make = |name: &str, files: &[(&str, &str)]| {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder).unwrap();
            for (file, text) in files {
                std::fs::write(folder.join(file), text).unwrap();
            }
            Crate {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                manifest: json!({
                    "license": "MIT", "repository": format!("https://{name}"),
                    "manifest_path": folder.join("Cargo.toml"),
                }),
                checksum: Some("ff".to_owned()),
                needs: Vec::new(),
            }
        };
        let crates = vec![
            make("a", &[("LICENSE-MIT", "Permission\n"), ("README.md", "no")]),
            make("b", &[("license.txt", "\nPermission"), ("NOTICE", "Notice")]),
            make("c", &[]),
        ];
        let text = text(&Shipped { crates, ..Shipped::default() }).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let (_, text) = text.split_once("\n\n").unwrap();
        let rule = "-".repeat(80);
        let expected = format!(
            "a 1.0.0: MIT; https://a\nb 1.0.0: MIT; https://b\n\
             c 1.0.0: MIT; https://c; its package has no license text\n\n{rule}\n\
             a 1.0.0, b 1.0.0:\n\nPermission\n\n{rule}\nb 1.0.0:\n\nNotice\n"
        );
        assert_eq!(text, expected);
    }
}
