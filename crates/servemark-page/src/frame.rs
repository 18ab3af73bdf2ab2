//! The frame that all pages share: head, navigation, theme and footer.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::html::{Html, escaped, json_in_script};
use crate::live::Live;

/// A page: its sections and the data that its script draws.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Title of the browser's window.
    pub(crate) title: &'a str,
    /// Kind of page, beside the name of the program.
    pub(crate) kind: &'a str,
    /// Data of the plots.
    pub(crate) data: &'a Value,
    /// Version of the program that measured.
    pub(crate) version: &'a str,
    /// State of the run, if the page is served while the run goes on.
    pub(crate) live: Option<&'a Live>,
}

/// A section of a page.
#[derive(Debug)]
pub(crate) struct Section {
    /// Target of links to the section.
    pub(crate) id: &'static str,
    /// Name in the navigation.
    pub(crate) name: &'static str,
    /// Heading and contents.
    pub(crate) html: String,
}

impl Frame<'_> {
    /// Writes the page with its sections.
    pub(crate) fn write(&self, sections: &[Section], out: &mut dyn io::Write) -> io::Result<()> {
        let mut html = Html::default();
        self.head(&mut html);
        html.raw("<a class=\"skip\" href=\"#main\">Skip to the contents</a>\n");
        html.raw("<div class=\"bar\"><div><b>")
            .text("Servemark")
            .raw("</b><nav aria-label=\"Sections\">\n");
        for section in sections {
            html.element(&format!("a href=\"#{}\"", section.id), section.name);
        }
        html.raw("</nav>");
        if let Some(live) = self.live {
            html.element("output id=\"live\" aria-live=\"off\"", live.text());
            html.raw(
                "<button id=\"pause\" type=\"button\" aria-pressed=\"false\" hidden>Pause</button>",
            );
        }
        html.raw("<button id=\"theme\" type=\"button\" aria-label=\"Switch between the light and the dark theme\" hidden></button></div></div>\n<main id=\"main\">\n");
        for section in sections {
            html.raw(&format!("<section id=\"{}\">\n", section.id));
            html.raw(&section.html).raw("</section>\n");
        }
        html.raw("</main>\n<footer>").text(self.kind);
        html.text(&format!(" of Servemark {}. ", self.version));
        html.text(if self.live.is_some() { ABOUT_LIVE } else { ABOUT });
        html.raw("</footer>\n<script type=\"application/json\" id=\"data\">");
        html.raw(&self.data_in_script()).raw("</script>\n<script>");
        html.raw(self.script()).raw("</script>\n</body>\n</html>\n");
        out.write_all(html.finish().as_bytes())
    }

    fn data_in_script(&self) -> String {
        let Some(live) = self.live else { return json_in_script(self.data) };
        let mut data = self.data.clone();
        data["live"] = live.to_json();
        json_in_script(&data)
    }

    fn script(&self) -> &'static str {
        if self.live.is_some() { LIVE_SCRIPT } else { SCRIPT }
    }

    fn head(&self, html: &mut Html) {
        let more = if self.live.is_some() { LIVE_POLICY } else { "" };
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'{more}",
            hash(self.script()),
            hash(STYLE)
        );
        html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"")
            .raw(&policy)
            .raw("\">\n");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.raw("<meta name=\"generator\" content=\"Servemark ").text(self.version).raw("\">\n");
        html.raw(&format!("<title>{}</title>\n", escaped(self.title)));
        html.raw("<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    }
}

/// Returns the source expression of a security policy that allows exactly this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

/// Style of all pages. The colours of the dark theme apply by the system's preference and by the
/// page's own button.
const STYLE: &str = concat!(
    include_str!("assets/page.css"),
    "@media (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) {\n",
    include_str!("assets/dark.css"),
    "} }\n:root[data-theme=\"dark\"] {\n",
    include_str!("assets/dark.css"),
    "}\n",
);

/// Joins the script of all pages with further parts.
macro_rules! script {
    ($($more:expr),*) => {
        concat!(
            "(() => {\n\"use strict\";\n",
            include_str!("assets/base.js"),
            include_str!("assets/axis.js"),
            include_str!("assets/plot.js"),
            include_str!("assets/layers.js"),
            include_str!("assets/requests.js"),
            include_str!("assets/distributions.js"),
            include_str!("assets/page.js"),
            $($more,)*
            "})();\n",
        )
    };
}

/// Script of pages that are files.
const SCRIPT: &str = script!();

/// Script of pages that are served while a run goes on.
const LIVE_SCRIPT: &str = script!(include_str!("assets/live.js"));

/// Addition to the security policy of a served page: its script may ask its own server.
const LIVE_POLICY: &str = "; connect-src 'self'";

const ABOUT: &str =
    "The page is one file, asks no network for anything and can be stored or sent as it is.";

const ABOUT_LIVE: &str = "The page asks the program that measures for newer figures, and nothing else. The \
                          report that the program writes at the end is a file of its own.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_make_no_markup_of_text_and_load_nothing_but_a_live_page() {
        let without_names = |script: &str| script.replace("http://www.w3.org/2000/svg", "");
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "XMLHttp",
            "import(",
            "src",
            "http:",
            "https:",
        ] {
            for script in [SCRIPT, LIVE_SCRIPT] {
                assert!(!without_names(script).contains(word), "{word}");
            }
        }
        assert!(!SCRIPT.contains("fetch("));
        assert_eq!(LIVE_SCRIPT.matches("fetch(").count(), 1);
        for word in ["url(", "@import", "http"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }
}
