//! Page that is served while a run has no report.

use std::io;

use serde_json::json;

use crate::frame::{Frame, Section};
use crate::html::Html;
use crate::live::{Live, Served};

/// Writes the page that is served while a run has no report: `title` and `news` say why.
pub fn write_notice(
    served: Served,
    [title, news]: [&str; 2],
    version: &str,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut html = Html::default();
    html.element("h1", title).element("p class=\"lead\"", news);
    let live = Live::new(served, "preparing");
    let (data, kind) = (json!({"panels": [], "distributions": []}), "Live page");
    let title = format!("{title} · Servemark");
    let frame = Frame { title: &title, kind, data: &data, version, live: Some(&live) };
    frame.write(&[Section { id: "summary", name: "Summary", html: html.finish() }], out)
}
