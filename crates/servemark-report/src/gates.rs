//! Verdicts of gates for continuous integration: Markdown, `JUnit` and annotations of GitHub.

use std::fmt::Write as _;

use servemark_metrics::SloVerdict;

use crate::page::entities;

/// The gates of a command with their verdicts, and the figures that they are about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateReport {
    /// Title, such as the path of the run log.
    pub title: String,
    /// Gates in the order in which they were given.
    pub gates: Vec<Gate>,
    /// Names of the columns of the table of figures.
    pub columns: Vec<String>,
    /// Rows of the table of figures.
    pub rows: Vec<Vec<String>>,
}

/// A condition on a run or on a change, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Name of the condition, such as `--slo ttft:p99<=2000ms`.
    pub name: String,
    /// Whether the condition holds.
    pub verdict: SloVerdict,
    /// Values that the verdict is based on.
    pub reason: String,
}

impl Gate {
    /// Creates a gate with its verdict.
    pub fn new(name: impl Into<String>, verdict: SloVerdict, reason: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, reason: reason.into() }
    }
}

impl GateReport {
    /// Returns the report as Markdown: the gates, then the figures.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n", markdown(&self.title));
        if !self.gates.is_empty() {
            text.push_str("\n| | gate | |\n|---|---|---|\n");
        }
        for Gate { name, verdict, reason } in &self.gates {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                word(*verdict),
                markdown(name),
                markdown(reason)
            );
        }
        if !self.rows.is_empty() {
            let _ = writeln!(text, "\n| {} |", self.columns.join(" | "));
            let _ = writeln!(text, "|{}", "---|".repeat(self.columns.len()));
        }
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| markdown(cell)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }

    /// Returns the report as a `JUnit` file: a test case for each gate. A gate that is undecided is an
    /// error, because it shows neither that the condition holds nor that it does not.
    pub fn junit(&self) -> String {
        let count = |verdict| self.gates.iter().filter(|gate| gate.verdict == verdict).count();
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" \
             tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
            xml(&self.title),
            self.gates.len(),
            count(SloVerdict::Fails),
            count(SloVerdict::Undecided),
        );
        for Gate { name, verdict, reason } in &self.gates {
            let (name, reason) = (xml(name), xml(reason));
            let case = format!("    <testcase classname=\"servemark\" name=\"{name}\"");
            let element = match verdict {
                SloVerdict::Holds => {
                    let _ = writeln!(text, "{case}><system-out>{reason}</system-out></testcase>");
                    continue;
                }
                SloVerdict::Fails => "failure",
                SloVerdict::Undecided => "error",
            };
            let _ = writeln!(text, "{case}><{element} message=\"{reason}\"/></testcase>");
        }
        text.push_str("  </testsuite>\n</testsuites>\n");
        text
    }

    /// Returns a line for each gate that does not hold, which GitHub Actions shows beside the job.
    pub fn annotations(&self) -> Vec<String> {
        let visible = self.gates.iter().filter_map(|Gate { name, verdict, reason }| {
            let level = match verdict {
                SloVerdict::Holds => return None,
                SloVerdict::Fails => "error",
                SloVerdict::Undecided => "warning",
            };
            let title = command_text(&format!("{name} {}", word(*verdict)));
            let title = title.replace(':', "%3A").replace(',', "%2C");
            Some(format!("::{level} title={title}::{}", command_text(reason)))
        });
        visible.collect()
    }
}

fn word(verdict: SloVerdict) -> &'static str {
    match verdict {
        SloVerdict::Holds => "holds",
        SloVerdict::Fails => "fails",
        SloVerdict::Undecided => "is undecided",
    }
}

/// Escapes a text of a table cell or a heading.
fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' => escaped.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => escaped.extend(['\\', sign]),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            sign => escaped.push(sign),
        }
    }
    escaped
}

/// Escapes a text of an XML attribute or element. Signs that XML cannot hold are left out.
fn xml(text: &str) -> String {
    let visible = text.chars().filter_map(|sign| match sign {
        '\t' | '\n' | '\r' => Some(' '),
        '\u{fffe}' | '\u{ffff}' => None,
        sign => (!sign.is_control()).then_some(sign),
    });
    entities(&visible.collect::<String>())
}

/// Escapes a text of a command of GitHub Actions.
fn command_text(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> GateReport {
        GateReport {
            title: "run <1>".to_owned(),
            gates: vec![
                Gate::new("--slo a<=1ms", SloVerdict::Holds, "0.5 ms"),
                Gate::new("--slo b", SloVerdict::Fails, "2 | \"3\"\n&"),
                Gate::new("--slo c:p9", SloVerdict::Undecided, "50 %"),
            ],
            columns: ["", "mean"].map(str::to_owned).into(),
            rows: vec![["TTFT (ms)", "1.00"].map(str::to_owned).into()],
        }
    }

    #[test]
    fn markdown_has_the_gates_and_the_figures() {
        assert_eq!(
            report().markdown(),
            "## run &lt;1&gt;\n\n| | gate | |\n|---|---|---|\n| holds | --slo a&lt;=1ms | 0.5 ms |\n\
             | fails | --slo b | 2 \\| \"3\" &amp; |\n| is undecided | --slo c:p9 | 50 % |\n\n\
             |  | mean |\n|---|---|\n| TTFT (ms) | 1.00 |\n"
        );
    }

    #[test]
    fn junit_counts_failures_and_errors() {
        let junit = report().junit();
        assert!(junit.contains("name=\"run &lt;1&gt;\" tests=\"3\" failures=\"1\" errors=\"1\""));
        assert!(junit.contains("name=\"--slo b\"><failure message=\"2 | &quot;3&quot; &amp;\"/>"));
        assert!(junit.contains("name=\"--slo c:p9\"><error message=\"50 %\"/>"), "{junit}");
    }

    #[test]
    fn annotations_are_of_gates_that_do_not_hold() {
        assert_eq!(
            report().annotations(),
            [
                "::error title=--slo b fails::2 | \"3\"%0A&",
                "::warning title=--slo c%3Ap9 is undecided::50 %25",
            ]
        );
    }
}
