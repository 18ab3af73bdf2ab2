//! Writes the study into the project's documents: raw figures, tables, plots, and the section that
//! quotes them.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::{Study, Style, draw, write_report};

/// Writes the raw figures and the tables to `benches/results`, the plots to `docs/plots`, and the
/// tables with the plots to the marked section of `docs/methodology.md`. All paths are below
/// `root`, the folder of the project.
pub fn document(study: &Study, root: &Path) -> anyhow::Result<()> {
    let name = format!("overhead-{}", study.date());
    let results = root.join("benches/results");
    let mut tables = Vec::new();
    write_report(study, Style::Markdown, &mut tables)?;
    let tables = String::from_utf8(tables)?;
    write(&results.join(format!("{name}.json")), &serde_json::to_string_pretty(study)?)?;
    write(&results.join(format!("{name}.md")), &tables)?;
    let pictures = draw(study, &root.join("docs/plots"))?;
    let pictures: Vec<String> =
        pictures.iter().map(|file| format!("![{file}](plots/{file})\n")).collect();
    let section = format!(
        "{date}; raw figures in `benches/results/{name}.json`.\n\n{tables}\n{pictures}",
        date = study.date(),
        pictures = pictures.concat(),
    );
    let path = root.join("docs/methodology.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = replaced(&text, &section)
        .with_context(|| format!("{} has no lines {BEGIN} and {END}", path.display()))?;
    write(&path, &text)
}

/// Replaces the section between the two marks; absent if the text does not have them.
fn replaced(text: &str, section: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", section.trim_end()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

const BEGIN: &str = "<!-- the overhead study: written by `just overhead-docs` -->";
const END: &str = "<!-- the end of the overhead study -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_between_its_marks() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let once = replaced(&text, "new\n").unwrap();
        assert_eq!(once, format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n"));
        assert_eq!(replaced(&once, "new").unwrap(), once);
        assert_eq!(replaced("no marks", "new"), None);
    }
}
