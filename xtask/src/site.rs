//! Builds the documents as a site, by mdBook.
//!
//! The documents name each other by their paths in the repository, in backticks. The site is built
//! from a copy in which such a name is a link.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::check::announce;
use crate::markdown;
use crate::metadata::{root, target_folder};

/// Builds the site below the target folder.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut version = Command::new("mdbook");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let is_there = version.status().is_ok_and(|status| status.success());
    ensure!(is_there, "mdbook is not installed: cargo install mdbook --version 0.5.4 --locked");
    let target = target_folder()?;
    let (copy, site) = (target.join("site-source"), target.join("site"));
    if copy.exists() {
        std::fs::remove_dir_all(&copy)?;
    }
    for name in COPIED {
        copy_linked(&root().join(name), &copy.join(name), Path::new(name))?;
    }
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(copy.join("docs")).arg("--dest-dir").arg(&site);
    ensure!(mdbook.status().context("cannot run mdbook")?.success(), "mdbook failed");
    announce(&site.join("index.html").to_string_lossy());
    Ok(())
}

/// Files and folders that the site is built from.
const COPIED: [&str; 5] =
    ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "crates/servemark-bench/examples", "docs"];

/// Copies a file or folder, with links to documents in the documents. `name` is its path in the
/// repository.
fn copy_linked(from: &Path, to: &Path, name: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let file = entry?.file_name();
            copy_linked(&from.join(&file), &to.join(&file), &name.join(&file))?;
        }
        return Ok(());
    }
    std::fs::create_dir_all(to.parent().context("a file without a folder")?)?;
    if name.extension().is_some_and(|extension| extension == "md") {
        let text = std::fs::read_to_string(from)?;
        let pages = |path: &Path| root().join(path).is_file();
        std::fs::write(to, with_links(&text, &page_folder(name), &pages))?;
    } else {
        std::fs::copy(from, to)?;
    }
    Ok(())
}

/// Returns the folder of the page that a document is, or is a part of: documents beside `docs` are
/// parts of pages in it.
fn page_folder(name: &Path) -> PathBuf {
    let folder = name.parent().unwrap_or(Path::new(""));
    if folder.starts_with("docs") { folder.to_owned() } else { "docs".into() }
}

/// Returns a document in which each name of a page, outside of blocks of code, is a link from
/// `folder` to it.
fn with_links(text: &str, folder: &Path, is_page: &dyn Fn(&Path) -> bool) -> String {
    let up = "../".repeat(folder.components().count().saturating_sub(1));
    let mut linked = String::new();
    for (line, is_code) in markdown::with_code(text.split_inclusive('\n')) {
        // An even part of a line is outside of backticks, an odd one inside. A span that goes on in
        // the next line names no page.
        let parts: Vec<&str> = line.split('`').collect();
        if is_code || parts.len().is_multiple_of(2) {
            linked.push_str(line);
            continue;
        }
        for (index, part) in parts.into_iter().enumerate() {
            let is_document = Path::new(part).extension().is_some_and(|found| found == "md");
            let page = part.strip_prefix("docs/").filter(|_| is_document);
            match page.filter(|_| index % 2 == 1 && is_page(Path::new(part))) {
                Some(page) => write!(linked, "[`{part}`]({up}{page})"),
                None if index % 2 == 1 => write!(linked, "`{part}`"),
                None => write!(linked, "{}", part.replace("](docs/", &format!("]({up}"))),
            }
            .expect("a string takes all text");
        }
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(folder: &str, text: &str, expected: &str) {
        let is_page = |path: &Path| path == Path::new("docs/a.md");
        assert_eq!(with_links(text, Path::new(folder), &is_page), expected);
    }

    #[test]
    fn names_of_pages_are_links() {
        check("docs", "See `docs/a.md`, `b`.\n", "See [`docs/a.md`](a.md), `b`.\n");
        check("docs/compat", "(`docs/a.md`)", "([`docs/a.md`](../a.md))");
        check("docs", "`docs/b.md` and `docs/c.py`", "`docs/b.md` and `docs/c.py`");
    }

    #[test]
    fn code_is_left_alone() {
        let text = "```\n`docs/a.md`\n```\n```sh\nx\n```\n";
        check("docs", text, text);
    }

    #[test]
    fn links_of_documents_beside_the_pages_lead_to_them() {
        assert_eq!(page_folder(Path::new("README.md")), Path::new("docs"));
        assert_eq!(page_folder(Path::new("docs/compat/a.md")), Path::new("docs/compat"));
        check("docs", "![A](docs/pictures/a.webp)\n", "![A](pictures/a.webp)\n");
    }
}
