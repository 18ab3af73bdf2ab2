//! The text form of faults: `NAME[@CHUNK][:ARGUMENT][/EVERY]`.

use std::fmt;
use std::num::NonZeroU32;

use super::MockSpecError;
use super::duration::{millis, parse_duration};
use super::fault::{ErrorShape, Fault, FaultKind};

pub(super) fn parse(text: &str) -> Result<Fault, MockSpecError> {
    let bad = |expected: String| MockSpecError::Fault { given: text.to_owned(), expected };
    let parts = Parts::of(text);
    let Some(form) = FORMS.iter().find(|form| name_of(form) == parts.name) else {
        return Err(bad(format!("one of {}", FORMS.join(", "))));
    };
    let kind = parts.kind().ok_or_else(|| bad(format!("{form}[/EVERY]")))?;
    match (&kind, parts.every) {
        (
            FaultKind::CloseIdle { .. } | FaultKind::Idle408 { .. } | FaultKind::NotReady { .. },
            Some(_),
        ) => Err(bad(format!("{form}, without /EVERY"))),
        (_, every) => Ok(Fault::every_nth(kind, every.unwrap_or(NonZeroU32::MIN))),
    }
}

pub(super) fn write(kind: &FaultKind, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kind {
        FaultKind::BadFrame { chunk } => write!(out, "bad-frame@{chunk}"),
        FaultKind::CloseAfter { delay } => write!(out, "close-after:{}ms", millis(*delay)),
        FaultKind::CloseDelimited => out.write_str("close-delimited"),
        FaultKind::CloseIdle { limit } => write!(out, "close-idle:{}ms", millis(*limit)),
        FaultKind::Comments => out.write_str("comments"),
        FaultKind::Crlf => out.write_str("crlf"),
        FaultKind::Cut { chunk } => write!(out, "cut@{chunk}"),
        FaultKind::Empty => out.write_str("empty"),
        FaultKind::Error { chunk, shape } => write!(out, "error@{chunk}:{}", shape_name(*shape)),
        FaultKind::Idle408 { limit } => write!(out, "idle-408:{}ms", millis(*limit)),
        FaultKind::Merge { events } => write!(out, "merge:{events}"),
        FaultKind::NoDone => out.write_str("no-done"),
        FaultKind::NotReady { until } => write!(out, "not-ready:{}ms", millis(*until)),
        FaultKind::OnlyDone => out.write_str("only-done"),
        FaultKind::Preempt { chunk, pause } => {
            write!(out, "preempt@{chunk}:{}ms", millis(*pause))
        }
        FaultKind::Reset => out.write_str("reset"),
        FaultKind::SlowHeaders { delay } => write!(out, "slow-headers:{}ms", millis(*delay)),
        FaultKind::Split { bytes } => write!(out, "split:{bytes}"),
        FaultKind::Stall { chunk, pause: None } => write!(out, "stall@{chunk}"),
        FaultKind::Stall { chunk, pause: Some(pause) } => {
            write!(out, "stall@{chunk}:{}ms", millis(*pause))
        }
        FaultKind::Status { code, body: None } => write!(out, "status:{code}"),
        FaultKind::Status { code, body: Some(body) } => write!(out, "status:{code}:{body}"),
    }
}

/// The text of a fault, split into its parts.
struct Parts<'a> {
    name: &'a str,
    chunk: Option<&'a str>,
    argument: Option<&'a str>,
    every: Option<NonZeroU32>,
}

impl<'a> Parts<'a> {
    /// Splits the text. A tail after `/` that is not a number stays with the text before it, which
    /// is either the body of a status or a mistake.
    fn of(text: &'a str) -> Self {
        let (rest, every) = text
            .rsplit_once('/')
            .and_then(|(rest, every)| Some((rest, Some(every.parse().ok()?))))
            .unwrap_or((text, None));
        let (head, argument) = split_once(rest, ':');
        let (name, chunk) = split_once(head, '@');
        Self { name, chunk, argument, every }
    }

    fn kind(&self) -> Option<FaultKind> {
        let kind = match (self.name, self.chunk, self.argument) {
            ("bad-frame", Some(chunk), None) => FaultKind::BadFrame { chunk: chunk.parse().ok()? },
            ("close-after", None, Some(delay)) => {
                FaultKind::CloseAfter { delay: parse_duration(delay).ok()? }
            }
            ("close-delimited", None, None) => FaultKind::CloseDelimited,
            ("close-idle", None, Some(limit)) => {
                FaultKind::CloseIdle { limit: parse_duration(limit).ok()? }
            }
            ("comments", None, None) => FaultKind::Comments,
            ("crlf", None, None) => FaultKind::Crlf,
            ("cut", Some(chunk), None) => FaultKind::Cut { chunk: chunk.parse().ok()? },
            ("empty", None, None) => FaultKind::Empty,
            ("error", Some(chunk), Some(name)) => {
                FaultKind::Error { chunk: chunk.parse().ok()?, shape: shape(name)? }
            }
            ("idle-408", None, Some(limit)) => {
                FaultKind::Idle408 { limit: parse_duration(limit).ok()? }
            }
            ("merge", None, Some(events)) => FaultKind::Merge { events: events.parse().ok()? },
            ("no-done", None, None) => FaultKind::NoDone,
            ("not-ready", None, Some(until)) => {
                FaultKind::NotReady { until: parse_duration(until).ok()? }
            }
            ("only-done", None, None) => FaultKind::OnlyDone,
            ("preempt", Some(chunk), Some(pause)) => FaultKind::Preempt {
                chunk: chunk.parse().ok()?,
                pause: parse_duration(pause).ok()?,
            },
            ("reset", None, None) => FaultKind::Reset,
            ("slow-headers", None, Some(delay)) => {
                FaultKind::SlowHeaders { delay: parse_duration(delay).ok()? }
            }
            ("split", None, Some(bytes)) => FaultKind::Split { bytes: bytes.parse().ok()? },
            ("stall", Some(chunk), pause) => FaultKind::Stall {
                chunk: chunk.parse().ok()?,
                pause: pause.map(parse_duration).transpose().ok()?,
            },
            ("status", None, Some(argument)) => status(argument)?,
            _ => return None,
        };
        Some(kind)
    }
}

fn split_once(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

fn status(argument: &str) -> Option<FaultKind> {
    let (code, body) = split_once(argument, ':');
    let code = code.parse().ok().filter(|code| (200..600).contains(code))?;
    Some(FaultKind::Status { code, body: body.map(str::to_owned) })
}

fn shape(name: &str) -> Option<ErrorShape> {
    SHAPES.into_iter().find(|shape| shape_name(*shape) == name)
}

fn shape_name(shape: ErrorShape) -> &'static str {
    match shape {
        ErrorShape::Flat => "flat",
        ErrorShape::Object => "object",
        ErrorShape::String => "string",
    }
}

fn name_of(form: &str) -> &str {
    form.split(['@', ':']).next().unwrap_or_default()
}

const SHAPES: [ErrorShape; 3] = [ErrorShape::Flat, ErrorShape::Object, ErrorShape::String];

/// The text forms of all faults.
const FORMS: [&str; 20] = [
    "bad-frame@CHUNK",
    "close-after:DURATION",
    "close-delimited",
    "close-idle:DURATION",
    "comments",
    "crlf",
    "cut@CHUNK",
    "empty",
    "error@CHUNK:object|string|flat",
    "idle-408:DURATION",
    "merge:EVENTS",
    "no-done",
    "not-ready:DURATION",
    "only-done",
    "preempt@CHUNK:DURATION",
    "reset",
    "slow-headers:DURATION",
    "split:BYTES",
    "stall@CHUNK[:DURATION]",
    "status:CODE[:BODY]",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_written_as_it_is_read() {
        for text in [
            "bad-frame@2",
            "close-after:0.2ms/3",
            "close-delimited",
            "close-idle:50ms",
            "comments/2",
            "crlf",
            "cut@5/3",
            "empty",
            "error@0:flat",
            "error@1:object/9",
            "error@1:string",
            "idle-408:50ms",
            "merge:4",
            "no-done",
            "not-ready:1500ms",
            "only-done",
            "preempt@4:20ms/3",
            "reset/2",
            "slow-headers:0.25ms",
            "split:7",
            "stall@5",
            "stall@5:20ms/3",
            "status:429:slow down/later/3",
            "status:500/10",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_tail_that_is_no_number_is_part_of_the_body() {
        let fault: Fault = "status:500:see a/b".parse().unwrap();
        let body = Some("see a/b".to_owned());
        assert_eq!(fault, Fault::always(FaultKind::Status { code: 500, body }));
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let message = text.parse::<Fault>().unwrap_err().to_string();
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn a_mistake_is_told_what_would_do() {
        check_refused("cut/3", "expected cut@CHUNK[/EVERY]");
        check_refused("cut@5/0", "expected cut@CHUNK[/EVERY]");
        check_refused("stall@x:2s", "expected stall@CHUNK[:DURATION][/EVERY]");
        check_refused("error@2:triangle", "expected error@CHUNK:object|string|flat[/EVERY]");
        check_refused("status:42", "expected status:CODE[:BODY][/EVERY]");
        check_refused("split:0", "expected split:BYTES[/EVERY]");
        check_refused("crlf:yes", "expected crlf[/EVERY]");
        check_refused("not-ready:1s/2", "expected not-ready:DURATION, without /EVERY");
        check_refused("close-idle:1s/2", "expected close-idle:DURATION, without /EVERY");
        let message = "explode".parse::<Fault>().unwrap_err().to_string();
        assert!(message.contains("expected one of bad-frame@CHUNK, close-after"), "{message}");
    }
}
