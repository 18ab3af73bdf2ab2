//! Events with gaps for what varies between requests and pieces.

use std::io::Write;

use serde_json::Value;

use super::ask::Logprobs;
use super::{TimesWords, TrueTimes, words};

/// Placeholder for the text of the event's own piece.
pub(super) const TEXT: &str = "\u{e000}";
/// Placeholder, as a whole string, for the number of output tokens so far.
pub(super) const TOKENS: &str = "\u{e001}";
/// Placeholder, as a whole string, for the number of prompt tokens and output tokens so far
/// together.
pub(super) const TOTAL: &str = "\u{e002}";
/// Placeholder, as a whole string, for the number of prompt tokens.
pub(super) const PROMPT: &str = "\u{e003}";
/// Placeholder, within a string, for the number of the request.
pub(super) const NUMBER: &str = "\u{e004}";
/// Placeholder, within a string, for the number of the request as 32 hexadecimal digits.
pub(super) const HEX_NUMBER: &str = "\u{e005}";
/// Placeholder for all text so far.
pub(super) const ALL_TEXT: &str = "\u{e006}";
/// Placeholder, as a whole string, for the index of the choice among all choices of all prompts.
pub(super) const INDEX: &str = "\u{e007}";

/// Placeholder, as a whole string, for the number of the event within its stream. Events that are
/// rendered together have consecutive numbers.
pub(super) const SEQUENCE: &str = "\u{e008}";
/// Placeholder, as a whole string, for the log probabilities of the event's tokens.
pub(super) const LOGPROBS: &str = "\u{e009}";
/// Placeholder, as a whole string, for the number of prompt tokens from the prefix cache.
pub(super) const CACHED: &str = "\u{e00b}";
/// Placeholder, as the key of a null member, for the members that report the server's times.
pub(super) const TIMES: &str = "\u{e00a}";

/// How events are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Style {
    pub(super) line_end: &'static str,
    /// A comment line that precedes every event.
    pub(super) comment: Option<&'static str>,
}

impl Style {
    /// Returns the event that holds this JSON.
    pub(super) fn json(self, json: &Value) -> String {
        self.event(&json.to_string())
    }

    /// Returns the event that holds this JSON, with a line before it that names the event.
    pub(super) fn named_event(self, name: &str, json: &Value) -> String {
        self.lines(&format!("event: {name}{}data: {json}", self.line_end))
    }

    /// Returns a JSON value as a line of a body of JSON lines.
    pub(super) fn line(self, json: &Value) -> String {
        self.data_line(&json.to_string())
    }

    /// Returns the line, in a body of JSON lines, that holds `data`.
    pub(super) fn data_line(self, data: &str) -> String {
        format!("{data}{}", self.line_end)
    }

    /// Returns the event that holds `data`.
    pub(super) fn event(self, data: &str) -> String {
        self.lines(&format!("data: {data}"))
    }

    fn lines(self, lines: &str) -> String {
        let end = self.line_end;
        let event = format!("{lines}{end}{end}");
        self.comment.map_or(event.clone(), |comment| format!("{comment}{end}{end}{event}"))
    }
}

/// The values of the gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    /// The one-based number of the request.
    pub(super) number: u64,
    /// Zero-based index of the choice among all choices of all prompts.
    pub(super) index: u32,
    pub(super) prompt_tokens: u32,
    /// The index of the first token of the piece.
    pub(super) from: u32,
    /// The index of the first token after the piece.
    pub(super) until: u32,
    /// The number of the first event within its stream.
    pub(super) sequence: u32,
    pub(super) times: TrueTimes,
    pub(super) cached: u32,
}

/// Events with gaps.
#[derive(Debug)]
pub(super) struct Template {
    parts: Vec<TemplatePart>,
    logprobs: Option<Logprobs>,
    times: Option<TimesWords>,
}

#[derive(Debug, Eq, PartialEq)]
enum TemplatePart {
    AllText,
    Cached,
    Fixed(Vec<u8>),
    HexNumber,
    Index,
    Logprobs,
    Number,
    Prompt,
    Sequence,
    Text,
    Times,
    Tokens,
    Total,
}

impl Template {
    /// Parses events that contain the placeholders of this module. A placeholder that stands for a
    /// whole string loses its quotation marks, so that its value becomes a number or an object.
    pub(super) fn new(events: &str) -> Self {
        let bare = |events: String, gap| events.replace(&format!("\"{gap}\""), gap);
        let events = [TOKENS, TOTAL, PROMPT, INDEX, SEQUENCE, LOGPROBS, CACHED]
            .into_iter()
            .fold(events.to_owned(), bare)
            .replace(&format!("\"{TIMES}\":null"), TIMES);
        Self { parts: parts(&events), logprobs: None, times: None }
    }

    /// Sets the form in which log probabilities are reported.
    pub(super) fn with(self, logprobs: Option<Logprobs>) -> Self {
        Self { logprobs, ..self }
    }

    /// Sets the words in which the server's times are reported.
    pub(super) fn with_times(self, times: Option<TimesWords>) -> Self {
        Self { times, ..self }
    }

    /// Appends the events, with their gaps filled in.
    pub(super) fn render(&self, filling: &Filling, out: &mut Vec<u8>) {
        let mut sequence = filling.sequence;
        for part in &self.parts {
            match part {
                TemplatePart::AllText => words::push(0, filling.until, out),
                TemplatePart::Cached => push_number(filling.cached.into(), out),
                TemplatePart::Fixed(bytes) => out.extend_from_slice(bytes),
                TemplatePart::HexNumber => push_padded_hex(filling.number, out),
                TemplatePart::Index => push_number(filling.index.into(), out),
                TemplatePart::Logprobs => self.push_logprobs(filling, out),
                TemplatePart::Number => push_number(filling.number, out),
                TemplatePart::Prompt => push_number(filling.prompt_tokens.into(), out),
                TemplatePart::Sequence => {
                    push_number(sequence.into(), out);
                    sequence += 1;
                }
                TemplatePart::Text => words::push(filling.from, filling.until - filling.from, out),
                TemplatePart::Times => self.push_times(filling, out),
                TemplatePart::Tokens => push_number(filling.until.into(), out),
                TemplatePart::Total => push_number(filling.total(), out),
            }
        }
    }
}

impl Template {
    fn push_logprobs(&self, filling: &Filling, out: &mut Vec<u8>) {
        let appended = self.logprobs.map_or(Value::Null, |how| how.of(filling.from, filling.until));
        write!(out, "{appended}").expect("a vector takes any number of bytes");
    }
}

impl Template {
    fn push_times(&self, filling: &Filling, out: &mut Vec<u8>) {
        let Some(words) = self.times else { return };
        let members = Value::Object(filling.times.members(words, filling.until)).to_string();
        // The members stand inside an object that is open already.
        out.extend_from_slice(members.trim_start_matches('{').trim_end_matches('}').as_bytes());
    }
}

impl Filling {
    fn total(&self) -> u64 {
        u64::from(self.until) + u64::from(self.prompt_tokens)
    }
}

fn parts(events: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut rest = events;
    while let Some(at) = rest.find(|symbol| GAPS.contains(&symbol)) {
        let (fixed, tail) = rest.split_at(at);
        let (gap, after) = tail.split_at(TEXT.len());
        parts.push(TemplatePart::Fixed(fixed.into()));
        parts.push(match gap {
            ALL_TEXT => TemplatePart::AllText,
            CACHED => TemplatePart::Cached,
            HEX_NUMBER => TemplatePart::HexNumber,
            INDEX => TemplatePart::Index,
            LOGPROBS => TemplatePart::Logprobs,
            NUMBER => TemplatePart::Number,
            PROMPT => TemplatePart::Prompt,
            SEQUENCE => TemplatePart::Sequence,
            TEXT => TemplatePart::Text,
            TIMES => TemplatePart::Times,
            TOKENS => TemplatePart::Tokens,
            _ => TemplatePart::Total,
        });
        rest = after;
    }
    parts.push(TemplatePart::Fixed(rest.into()));
    parts
}

fn push_number(number: u64, out: &mut Vec<u8>) {
    write!(out, "{number}").expect("a vector takes any number of bytes");
}

fn push_padded_hex(number: u64, out: &mut Vec<u8>) {
    write!(out, "{number:032x}").expect("a vector takes any number of bytes");
}

const GAPS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{e00b}';

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(style: Style, text: &str, expected: &str) {
        let json = json!({"text": text, "tokens": TOKENS, "total": TOTAL});
        let filling = Filling {
            number: 31,
            index: 7,
            prompt_tokens: 10,
            from: 1,
            until: 3,
            sequence: 0,
            times: TrueTimes::default(),
            cached: 0,
        };
        let mut out = Vec::new();
        Template::new(&style.json(&json)).render(&filling, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn gaps_are_filled() {
        let style = Style { line_end: "\n", comment: None };
        check(style, TEXT, "data: {\"text\":\" year work\",\"tokens\":3,\"total\":13}\n\n");
        let all = "data: {\"text\":\" time year work\",\"tokens\":3,\"total\":13}\n\n";
        check(style, ALL_TEXT, all);
    }

    #[test]
    fn requests_have_their_own_numbers() {
        let filling = Filling {
            number: 31,
            index: 7,
            prompt_tokens: 10,
            from: 0,
            until: 0,
            sequence: 0,
            times: TrueTimes::default(),
            cached: 0,
        };
        let mut out = Vec::new();
        let events = format!("id-{NUMBER} {HEX_NUMBER} \"{PROMPT}\" \"{INDEX}\"");
        Template::new(&events).render(&filling, &mut out);
        assert_eq!(out, b"id-31 0000000000000000000000000000001f 10 7");
    }

    #[test]
    fn a_style_frames_every_event() {
        let style = Style { line_end: "\r\n", comment: Some(": ping") };
        assert_eq!(style.event("x"), ": ping\r\n\r\ndata: x\r\n\r\n");
    }
}
