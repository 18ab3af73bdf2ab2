//! The Homebrew formula, from the checksums of a release's archives.

use std::path::Path;

use anyhow::{Context, ensure};

use super::{PROGRAM, write as write_file};

/// Formula with `@NAME@` in place of the version and of each target's checksum.
const TEMPLATE: &str = include_str!("../../../packaging/servemark.rb");

/// Targets that the formula installs.
const TARGETS: [&str; 4] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-musl",
];

/// Writes the formula to the folder that has the archives' checksums.
pub(super) fn write(folder: &Path, version: &str) -> anyhow::Result<()> {
    let mut formula = TEMPLATE.replace("@VERSION@", version);
    for target in TARGETS {
        let path = folder.join(format!("{PROGRAM}-{version}-{target}.tar.gz.sha256"));
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let sum = text.split_whitespace().next().unwrap_or_default();
        ensure!(sum.len() == 64, "{} has no checksum", path.display());
        formula = formula.replace(&format!("@{target}@"), sum);
    }
    write_file(folder, &format!("{PROGRAM}.rb"), formula.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_gets_its_checksum() {
        let folder = std::env::temp_dir().join(format!("xtask-formula-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(write(&folder, "1.2.3").is_err(), "no checksums");
        for (index, target) in TARGETS.iter().enumerate() {
            let file = format!("servemark-1.2.3-{target}.tar.gz");
            let sum = format!("{}  {file}\n", index.to_string().repeat(64));
            std::fs::write(folder.join(format!("{file}.sha256")), sum).unwrap();
        }
        write(&folder, "1.2.3").unwrap();
        let formula = std::fs::read_to_string(folder.join("servemark.rb")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!formula.contains('@'), "{formula}");
        let mac = "servemark-1.2.3-x86_64-apple-darwin.tar.gz\"\n      sha256 \"2222";
        assert!(formula.contains(mac), "{formula}");
    }
}
