//! An event rendered once per request, with gaps for what varies from piece to piece.

use std::io::Write;

use serde_json::Value;

use super::words;

/// Stands in an event where the text goes.
pub(super) const TEXT: &str = "\u{e000}";
/// Stands in an event, as a string, where the number of tokens so far goes.
pub(super) const TOKENS: &str = "\u{e001}";
/// Stands in an event, as a string, where that number and the prompt's together go.
pub(super) const TOTAL: &str = "\u{e002}";

/// How events are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(super) line_end: &'static str,
    /// A line that precedes every event.
    pub(super) comment: Option<&'static str>,
}

impl Style {
    /// The event that holds `data`.
    pub(super) fn event(self, data: &str) -> String {
        let end = self.line_end;
        let event = format!("data: {data}{end}{end}");
        self.comment.map_or(event.clone(), |comment| format!("{comment}{end}{end}{event}"))
    }
}

/// Whether an event holds its own text or all text so far. Closed: dialects do one or the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Text {
    Cumulative,
    Delta,
}

/// An event with gaps.
#[derive(Debug)]
pub(super) struct Template {
    parts: Vec<Part>,
    text: Text,
    prompt_tokens: u32,
}

#[derive(Debug, Eq, PartialEq)]
enum Part {
    Fixed(Vec<u8>),
    Text,
    Tokens,
    Total,
}

impl Template {
    /// A template of an event whose JSON has the gaps above.
    pub(super) fn new(style: Style, json: &Value, text: Text, prompt_tokens: u32) -> Self {
        let event = style
            .event(&json.to_string())
            .replace(&format!("\"{TOKENS}\""), TOKENS)
            .replace(&format!("\"{TOTAL}\""), TOTAL);
        Self { parts: parts(&event), text, prompt_tokens }
    }

    /// Appends the event of the tokens `from..until`.
    pub(super) fn render(&self, from: u32, until: u32, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Fixed(bytes) => out.extend_from_slice(bytes),
                Part::Text => self.render_text(from, until, out),
                Part::Tokens => push_number(until, out),
                Part::Total => push_number(until.saturating_add(self.prompt_tokens), out),
            }
        }
    }

    fn render_text(&self, from: u32, until: u32, out: &mut Vec<u8>) {
        match self.text {
            Text::Cumulative => words::push(0, until, out),
            Text::Delta => words::push(from, until - from, out),
        }
    }
}

fn parts(event: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = event;
    while let Some(at) = rest.find(|symbol| GAPS.contains(&symbol)) {
        let (fixed, tail) = rest.split_at(at);
        let (gap, after) = tail.split_at(TEXT.len());
        parts.push(Part::Fixed(fixed.into()));
        parts.push(match gap {
            TEXT => Part::Text,
            TOKENS => Part::Tokens,
            _ => Part::Total,
        });
        rest = after;
    }
    parts.push(Part::Fixed(rest.into()));
    parts
}

fn push_number(number: u32, out: &mut Vec<u8>) {
    write!(out, "{number}").expect("a vector takes any number of bytes");
}

const GAPS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{e002}';

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(style: Style, text: Text, expected: &str) {
        let json = json!({"text": TEXT, "tokens": TOKENS, "total": TOTAL});
        let mut out = Vec::new();
        Template::new(style, &json, text, 10).render(1, 3, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn gaps_are_filled() {
        let style = Style { line_end: "\n", comment: None };
        check(style, Text::Delta, "data: {\"text\":\" year work\",\"tokens\":3,\"total\":13}\n\n");
        let all = "data: {\"text\":\" time year work\",\"tokens\":3,\"total\":13}\n\n";
        check(style, Text::Cumulative, all);
    }

    #[test]
    fn a_style_frames_every_event() {
        let style = Style { line_end: "\r\n", comment: Some(": ping") };
        assert_eq!(style.event("x"), ": ping\r\n\r\ndata: x\r\n\r\n");
    }
}
