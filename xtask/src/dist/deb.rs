//! The Debian package: an archive of two archives, one with the description, one with the files.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;

use super::archive::{Tree, gzip};
use super::pages::Kind;
use super::{PROGRAM, Release, THIRD_PARTY, write as write_file};
use crate::metadata::root;

/// Writes the package to a folder.
pub(super) fn write(release: &Release, third_party: &str, folder: &Path) -> anyhow::Result<()> {
    let name = format!("{PROGRAM}_{}-1_{}.deb", release.version, release.architecture()?);
    write_file(folder, &name, &package(release, third_party)?)
}

/// Returns the package of a static program, which depends on no other package.
fn package(release: &Release, third_party: &str) -> anyhow::Result<Vec<u8>> {
    let files = files(release, third_party)?;
    let mut control = Tree::default();
    control.add_file("control".to_owned(), control_file(release, files.size())?.into_bytes());
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control.tar(release.date)?)?),
        ("data.tar.gz", gzip(&files.tar(release.date)?)?),
    ];
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        let header = format!("{name:<16}{:<12}0     0     100644  {size:<10}`\n", release.date);
        package.extend(header.as_bytes());
        package.extend(content);
        if size % 2 == 1 {
            package.push(b'\n');
        }
    }
    Ok(package)
}

fn files(release: &Release, third_party: &str) -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    tree.add_program(format!("usr/bin/{PROGRAM}"), release.program.clone());
    let documents = format!("usr/share/doc/{PROGRAM}");
    let licence = std::fs::read_to_string(root().join("LICENSE-MIT"))?;
    let copyright = format!(
        "License: MIT or Apache-2.0 (/usr/share/common-licenses/Apache-2.0), at your choice.\n\
         {THIRD_PARTY} has the licenses of the crates in the program.\n\n{licence}"
    );
    tree.add_file(format!("{documents}/copyright"), copyright.into_bytes());
    tree.add_file(format!("{documents}/{THIRD_PARTY}"), third_party.into());
    for page in &release.pages {
        let Some(path) = page.on_debian() else { continue };
        let text = page.text.as_bytes();
        let is_manual = page.kind == Kind::Manual;
        tree.add_file(path, if is_manual { gzip(text)? } else { text.to_vec() });
    }
    Ok(tree.with_parents())
}

/// Returns the description of the package. What `cargo deb` reads too is in the program's manifest.
fn control_file(release: &Release, size: usize) -> anyhow::Result<String> {
    let manifest = &release.shipped.program.manifest;
    let deb = &manifest["metadata"]["deb"];
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let description = text(&manifest["description"]).context("the program has no description")?;
    let mut control = String::new();
    let fields = [
        ("Package", Some(PROGRAM.to_owned())),
        ("Version", Some(format!("{}-1", release.version))),
        ("Architecture", Some(release.architecture()?.to_owned())),
        ("Maintainer", text(&deb["maintainer"])),
        ("Installed-Size", Some(size.div_ceil(1024).to_string())),
        ("Section", text(&deb["section"])),
        ("Priority", text(&deb["priority"])),
        ("Homepage", text(&manifest["repository"])),
        ("Description", Some(description.trim_end_matches('.').to_owned())),
    ];
    for (name, value) in fields {
        let value = value.with_context(|| format!("the program's manifest has no {name}"))?;
        writeln!(control, "{name}: {value}")?;
    }
    for line in text(&deb["extended-description"]).unwrap_or_default().lines() {
        writeln!(control, " {line}")?;
    }
    Ok(control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dist::tests::release;

    fn described() -> Release {
        let mut release = release();
        release.shipped.program.manifest = json!({
            "description": "A program.", "repository": "https://a",
            "metadata": {"deb": {"maintainer": "A <a@b>", "section": "net", "priority": "optional",
                                 "extended-description": "Long.\nLonger."}},
        });
        release
    }

    #[test]
    fn the_description_is_that_of_the_manifest() {
        let expected = "Package: servemark\nVersion: 1.2.3-1\nArchitecture: amd64\n\
                        Maintainer: A <a@b>\nInstalled-Size: 2\nSection: net\nPriority: optional\n\
                        Homepage: https://a\nDescription: A program\n Long.\n Longer.\n";
        assert_eq!(control_file(&described(), 1025).unwrap(), expected);
        assert!(control_file(&release(), 1025).is_err());
    }

    #[test]
    fn the_package_has_three_members_on_even_offsets() {
        let package = package(&described(), "crates\n").unwrap();
        let mut rest = package.strip_prefix(b"!<arch>\n").unwrap();
        let mut names = Vec::new();
        while !rest.is_empty() {
            let header = std::str::from_utf8(&rest[..60]).unwrap();
            let size: usize = header[48..58].trim().parse().unwrap();
            assert!(header.ends_with("`\n"), "{header}");
            names.push(header[..16].trim().to_owned());
            rest = &rest[60 + size.next_multiple_of(2)..];
        }
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    }
}
