//! The parts that pages of ours share. A page needs nothing but itself.

use std::io;

use crate::chart::Figure;

/// A page's beginning, down to its heading.
pub(crate) fn head(title: &str, heading: &str, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<title>{title}</title>\n{STYLE}\n</head>\n<body>\n<h1>{heading}</h1>")
}

/// A figure under its title; nothing where it has no panel.
pub(crate) fn section(title: &str, figure: &Figure, out: &mut dyn io::Write) -> io::Result<()> {
    if figure.rows.iter().all(Vec::is_empty) {
        return Ok(());
    }
    writeln!(out, "<h2>{title}</h2>\n<figure>\n{}\n</figure>", figure.svg()?)
}

/// A page's end.
pub(crate) fn end(out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "</body>\n</html>")
}

const STYLE: &str = "\
<style>
body { font-family: sans-serif; margin: 2em; }
figure { margin: 0; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; }
td, th { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: right; }
</style>";
