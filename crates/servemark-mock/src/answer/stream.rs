//! A stream as a state machine: its head, its pieces, its tail.

use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark_core::Stamp;

use super::injected::{Content, Injected, Interruption};
use super::script::{Body, Part, Script, Total};
use super::shapes::error_json;
use super::{Schedule, Step};
use crate::ErrorShape;
use crate::http::{End, Framing, KeepAlive, push_chunk, push_head};

/// An answer that is streamed.
#[derive(Debug)]
pub(crate) struct Stream {
    script: Arc<Script>,
    part: Part,
    /// The other choices and prompts; their pieces are due together with those of `part`.
    others: Vec<Part>,
    total: Total,
    /// Whether the opening and closing events are sent.
    is_framed: bool,
    schedule: Schedule,
    injected: Injected,
    framing: Framing,
    keep_alive: KeepAlive,
    stage: StreamState,
    /// The number of pieces of each choice.
    pieces: u32,
    /// The number of pieces of each choice that were already sent.
    appended: u32,
    due: Stamp,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum StreamState {
    Head,
    Pieces,
    Tail,
}

impl Stream {
    pub(crate) fn new(
        script: Arc<Script>,
        (part, others): (Part, Vec<Part>),
        total: Total,
        schedule: Schedule,
        injected: Injected,
        keep_alive: KeepAlive,
    ) -> Self {
        let is_framed = injected.content == Content::All;
        let pieces = if is_framed { part.length.pieces() } else { 0 };
        let (framing, keep_alive) = if injected.close_delimited {
            (Framing::Close, KeepAlive::No)
        } else {
            (Framing::Chunked, keep_alive)
        };
        let (stage, due) = (StreamState::Head, schedule.head());
        Self {
            script,
            part,
            others,
            total,
            is_framed,
            schedule,
            injected,
            framing,
            keep_alive,
            stage,
            pieces,
            appended: 0,
            due,
        }
    }

    pub(super) fn due(&self) -> Stamp {
        self.due
    }

    pub(super) fn split(&self) -> Option<NonZeroUsize> {
        self.injected.split
    }

    pub(super) fn pieces(&self) -> usize {
        self.pieces as usize * self.choices()
    }

    pub(super) fn next_pieces(&self) -> usize {
        match self.stage {
            StreamState::Head | StreamState::Tail => 0,
            StreamState::Pieces => (self.group_end() - self.appended) as usize * self.choices(),
        }
    }

    pub(super) fn step(&mut self, now: Stamp, out: &mut Vec<u8>) -> Step {
        let is_output = self.stage == StreamState::Pieces;
        for part in [&mut self.part].into_iter().chain(&mut self.others) {
            part.times.advance(now, is_output);
        }
        match self.stage {
            StreamState::Head => self.head(out),
            StreamState::Pieces => self.group(out),
            StreamState::Tail => self.tail(out),
        }
    }

    fn head(&mut self, out: &mut Vec<u8>) -> Step {
        push_head(200, self.script.body.content_type(), self.framing, self.keep_alive, out);
        if self.is_framed {
            self.push_chunk(out, |stream, out| {
                stream.parts().for_each(|part| stream.script.open(part, out));
            });
        }
        self.go_on();
        Step::default()
    }

    fn group(&mut self, out: &mut Vec<u8>) -> Step {
        let mut step = Step::default();
        let until = self.group_end();
        self.push_chunk(out, |stream, out| {
            while stream.appended < until.min(stream.pieces) && step.end.is_none() {
                stream.append_next(&mut step, out);
            }
        });
        self.go_on();
        step
    }

    fn append_next(&mut self, step: &mut Step, out: &mut Vec<u8>) {
        match self.injected.interruption(self.appended) {
            None => {
                self.parts().for_each(|part| self.script.append_event(part, self.appended, out));
                let (from, until) = self.part.length.tokens_of(self.appended);
                step.pieces += self.choices();
                step.tokens += u64::from(until - from) * self.choices() as u64;
            }
            Some(Interruption::BadFrame) => self.push_event(BAD_FRAME, out),
            Some(Interruption::Cut) => step.end = Some(End::Close),
            Some(Interruption::Error(shape)) => self.fail(shape, out),
            Some(Interruption::Hang) => step.end = Some(End::Hang),
        }
        self.appended += 1;
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Step {
        let is_marked = self.script.end_mark
            && self.injected.end_mark
            && self.injected.content != Content::Nothing;
        self.push_chunk(out, |stream, out| {
            if stream.is_framed {
                stream.parts().for_each(|part| stream.script.end(part, out));
                stream.script.close(&stream.part, stream.total, out);
            }
            if is_marked {
                stream.push_event("[DONE]", out);
            }
        });
        if self.framing == Framing::Chunked {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        Step { end: Some(self.keep_alive.into()), ..Step::default() }
    }

    /// Schedules the next step. The tail is due with the last piece.
    fn go_on(&mut self) {
        if self.appended < self.pieces {
            self.stage = StreamState::Pieces;
            self.due = self.schedule.piece_out(self.group_end() - 1);
        } else {
            if self.stage == StreamState::Head {
                self.due = self.schedule.piece_out(0);
            }
            self.stage = StreamState::Tail;
        }
    }

    /// All choices of all prompts.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        [&self.part].into_iter().chain(&self.others)
    }

    fn choices(&self) -> usize {
        1 + self.others.len()
    }

    /// Returns the index after the last piece of the next group. Merged pieces are sent together
    /// when the last of them is due.
    fn group_end(&self) -> u32 {
        self.appended.saturating_add(self.injected.merge.get()).min(self.pieces)
    }

    /// Appends an error event, after which no piece follows.
    fn fail(&mut self, shape: ErrorShape, out: &mut Vec<u8>) {
        self.push_event(&error_json(shape, 500, "an injected error").to_string(), out);
        self.pieces = self.appended + 1;
        self.is_framed = false;
    }

    fn push_event(&self, data: &str, out: &mut Vec<u8>) {
        let event = match self.script.body {
            Body::Events => self.injected.style.event(data),
            Body::Lines => self.injected.style.data_line(data),
        };
        out.extend_from_slice(event.as_bytes());
    }

    /// Appends the bytes that `events` writes, as a chunk if the body is chunked.
    fn push_chunk(&mut self, out: &mut Vec<u8>, events: impl FnOnce(&mut Self, &mut Vec<u8>)) {
        match self.framing {
            Framing::Chunked => push_chunk(out, |out| events(self, out)),
            Framing::Close | Framing::Length(_) => events(self, out),
        }
    }
}

/// The first half of a JSON document.
const BAD_FRAME: &str = r#"{"choices":[{"index":0,"te"#;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;
    use crate::MockSpec;
    use crate::answer::{Ask, Dialect, ResponseBuilder, Scripts};

    const MS: u64 = 1_000_000;

    /// Runs an answer of four tokens on a simulated clock that is `lateness_ms` late at every step,
    /// and returns the due time in milliseconds, the description and the bytes of each step.
    fn run(faults: &[&str], lateness_ms: u64) -> Vec<(u64, Step, String)> {
        let mut spec = MockSpec::new(Duration::from_millis(30), Duration::from_millis(2));
        spec.faults = faults.iter().map(|text| text.parse().unwrap()).collect();
        spec.tokens_per_chunk = NonZeroU32::MIN;
        let ask = Ask::parse(br#"{"prompt": "a b", "max_tokens": 4, "stream": true}"#).unwrap();
        let injected = Injected::of(&spec.faults, 1);
        let response = ResponseBuilder::new(&spec, &ask, Dialect::Completions, 1, 0);
        let script = response.script(&Scripts::default(), injected.style).unwrap();
        let schedule = Schedule::new(&spec, Stamp::ZERO, 1, &injected);
        let mut stream = Stream::new(
            script,
            response.parts(),
            response.total(),
            schedule,
            injected,
            KeepAlive::Yes,
        );
        let mut steps = Vec::new();
        let mut now = 0;
        loop {
            now = now.max(stream.due().as_nanos()) + lateness_ms * MS;
            let (due, mut out) = (stream.due().as_nanos() / MS, Vec::new());
            let step = stream.step(Stamp::from_nanos(now), &mut out);
            steps.push((due, step, String::from_utf8(out).unwrap()));
            if step.end.is_some() {
                return steps;
            }
        }
    }

    fn dues(steps: &[(u64, Step, String)]) -> Vec<u64> {
        steps.iter().map(|(due, ..)| *due).collect()
    }

    fn piece_count(steps: &[(u64, Step, String)]) -> usize {
        steps.iter().map(|(_, step, _)| step.pieces).sum()
    }

    fn bytes(steps: &[(u64, Step, String)]) -> String {
        steps.iter().map(|(.., bytes)| bytes.as_str()).collect()
    }

    #[track_caller]
    fn last_end(steps: &[(u64, Step, String)]) -> End {
        steps.last().unwrap().1.end.unwrap()
    }

    #[test]
    fn due_times_do_not_depend_on_lateness() {
        let punctual = run(&[], 0);
        assert_eq!(dues(&punctual), [0, 30, 32, 34, 36, 36]);
        assert_eq!(dues(&run(&[], 100)), dues(&punctual));
        assert_eq!((piece_count(&punctual), last_end(&punctual)), (4, End::Whole));
    }

    #[test]
    fn each_piece_is_a_chunk_with_one_event() {
        let steps = run(&[], 0);
        assert!(steps[0].2.ends_with("transfer-encoding: chunked\r\n\r\n"), "{}", steps[0].2);
        assert_eq!(
            steps[2].2,
            "99\r\ndata: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":0,\
             \"model\":\"mock\",\"choices\":[{\"index\":0,\"text\":\" year\",\"logprobs\":null,\
             \"finish_reason\":null}]}\n\n\r\n"
        );
        assert_eq!(steps[5].2, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    }

    #[test]
    fn merged_pieces_wait_for_the_last_of_them() {
        let steps = run(&["merge:3"], 0);
        assert_eq!(dues(&steps), [0, 34, 36, 36]);
        assert_eq!((steps[1].1.pieces, steps[2].1.pieces), (3, 1));
        assert_eq!(steps[1].2.matches("data: ").count(), 3);
    }

    #[test]
    fn a_cut_comes_in_place_of_its_piece() {
        let steps = run(&["cut@2"], 0);
        assert_eq!((dues(&steps), piece_count(&steps)), (vec![0, 30, 32, 34], 2));
        assert_eq!((last_end(&steps), steps[3].2.as_str()), (End::Close, ""));
        let merged = run(&["cut@2", "merge:4"], 0);
        assert_eq!((piece_count(&merged), last_end(&merged)), (2, End::Close));
    }

    #[test]
    fn a_stall_for_ever_leaves_the_connection_open() {
        let steps = run(&["stall@0"], 0);
        assert_eq!((piece_count(&steps), last_end(&steps)), (0, End::Hang));
    }

    #[test]
    fn an_error_ends_the_story_but_not_the_protocol() {
        let steps = run(&["error@1:string"], 0);
        assert_eq!(dues(&steps), [0, 30, 32, 32]);
        assert_eq!((piece_count(&steps), last_end(&steps)), (1, End::Whole));
        assert!(steps[2].2.contains("data: {\"error\":\"an injected error\"}\n\n"));
        assert!(steps[3].2.contains("[DONE]"));
    }

    #[test]
    fn a_bad_frame_is_no_output() {
        let steps = run(&["bad-frame@1"], 0);
        assert_eq!((piece_count(&steps), dues(&steps).len()), (3, 6));
        assert!(bytes(&steps).contains("\"te\n\n"));
    }

    #[test]
    fn bodies_may_lack_what_matters() {
        let nothing = bytes(&run(&["empty"], 0));
        assert!(nothing.ends_with("\r\n\r\n0\r\n\r\n") && !nothing.contains("data"));
        let mark = bytes(&run(&["only-done"], 0));
        assert!(mark.contains("[DONE]") && !mark.contains("choices"));
        let unmarked = bytes(&run(&["no-done"], 0));
        assert!(!unmarked.contains("[DONE]") && unmarked.contains("choices"));
    }

    #[test]
    fn a_close_delimited_body_is_bare() {
        let steps = run(&["close-delimited"], 0);
        assert!(steps[0].2.starts_with("HTTP/1.0 200 OK\r\n"));
        assert!(!bytes(&steps).contains("chunked") && bytes(&steps).contains("\n\ndata: "));
        assert!(bytes(&steps).ends_with("data: [DONE]\n\n"));
        assert_eq!(last_end(&steps), End::Close);
    }

    #[test]
    fn lines_and_comments_follow_the_style() {
        let text = bytes(&run(&["crlf", "comments"], 0));
        assert_eq!(text.matches(": keep-alive\r\n\r\ndata: ").count(), 5);
    }
}
