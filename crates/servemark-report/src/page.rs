//! Shared parts of Servemark's HTML pages. A page is self-contained.

use std::io;

use servemark_core::printable_lines;

use crate::chart::Figure;

/// Writes the start of a page, including its heading.
pub(crate) fn head(title: &str, heading: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let (title, heading) = (escaped(title), escaped(heading));
    writeln!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<title>{title}</title>\n{STYLE}\n</head>\n<body>\n<h1>{heading}</h1>")
}

/// Writes a figure with a title; writes nothing if the figure has no panel.
pub(crate) fn section(title: &str, figure: &Figure, out: &mut dyn io::Write) -> io::Result<()> {
    if figure.rows.iter().all(Vec::is_empty) {
        return Ok(());
    }
    writeln!(out, "<h2>{title}</h2>")?;
    self::figure(figure, out)
}

/// Writes a figure without a title.
pub(crate) fn figure(figure: &Figure, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "<figure>\n{}\n</figure>", figure.svg()?)
}

/// Writes names and values as a definition list.
pub(crate) fn pairs(
    pairs: impl IntoIterator<Item = (String, String)>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let pair = |(name, value): (String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(&name), escaped(&value))
    };
    writeln!(out, "<dl>\n{}</dl>", pairs.into_iter().map(pair).collect::<String>())
}

/// Writes a table with headings.
pub(crate) fn table(
    heads: &[String],
    rows: &[Vec<String>],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let line = |name: &str, cells: &[String]| {
        let cells = cells.iter().map(|cell| format!("<{name}>{}</{name}>", escaped(cell)));
        cells.collect::<String>()
    };
    writeln!(out, "<table>\n<tr>{}</tr>", line("th", heads))?;
    rows.iter().try_for_each(|row| writeln!(out, "<tr>{}</tr>", line("td", row)))?;
    writeln!(out, "</table>")
}

/// Writes the end of a page.
pub(crate) fn end(out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "</body>\n</html>")
}

/// Escapes text for HTML and makes control characters visible, including those that reorder text.
pub(crate) fn escaped(text: &str) -> String {
    entities(&printable_lines(text))
}

/// Escapes text for an element or attribute of HTML or XML.
pub(crate) fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = "\
<style>
body { font-family: sans-serif; margin: 2em; }
figure { margin: 0; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
td, th { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: right; }
dl { display: flex; flex-wrap: wrap; gap: 0.6em; }
dl div { border: 1px solid #ccc; padding: 0.4em 0.8em; }
dt { color: #555; font-size: 0.8em; }
dd { margin: 0; }
</style>";
