//! Frames are kept with their stamps, and are decoded as they would be while they arrive.

use servemark_core::{Finish, Phase, ReadyRequest, Usage};

use super::*;
use crate::{ChatSpec, CommonSpec};

/// Decodes with a bundled dialect, frame by frame.
struct Replayed(ChatSpec);

impl DeferredBackend for Replayed {
    fn encode(&self, sample: &Sample, _model: &str) -> Result<WireRequest, RequestError> {
        self.0.encode(sample)
    }

    fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError> {
        let mut decoder = self.0.decoder(&sample());
        for frame in answer.frames() {
            decoder.event(Event::from_data(frame.data.as_bytes()), &mut out.at(frame.arrival))?;
        }
        decoder.end()
    }
}

/// Decodes by a function.
struct ByFunction<F>(F);

impl<F> DeferredBackend for ByFunction<F>
where
    F: Fn(RawAnswer<'_>, &mut Recorder) -> Result<(), RequestError> + Send + Sync + 'static,
{
    fn encode(&self, _sample: &Sample, _model: &str) -> Result<WireRequest, RequestError> {
        WireRequest::json("/", &())
    }

    fn decode(&self, answer: RawAnswer<'_>, out: &mut Recorder) -> Result<(), RequestError> {
        (self.0)(answer, out)
    }
}

fn sample() -> Sample {
    Sample::new("Hi", 1, 2)
}

fn at(micros: u64) -> Stamp {
    Stamp::from_nanos(micros * 1000)
}

/// Returns the record of an answer whose frames come one millisecond apart and are read 7 µs later.
fn record<D: Decoder>(
    mut decoder: D,
    frames: &[(&str, &str)],
    outcome: Result<Finish, RequestError>,
) -> RequestRecord {
    let mut recorder = Recorder::new(0, Phase::Measure, &sample(), at(0));
    recorder.record_sent(at(1));
    recorder.headers(at(500), 200);
    for ((event, data), micros) in frames.iter().zip((1000..).step_by(1000)) {
        let arrival = Arrival::new(at(micros), at(micros + 7));
        recorder.body(arrival, data.len());
        let stream = format!("event: {event}\ndata: {data}\n\n");
        let mut parser = servemark_sse::Parser::new();
        let decoded = parser.feed(stream.as_bytes(), |event| {
            decoder.event(event, &mut recorder.at(arrival)).map(drop)
        });
        decoded.unwrap();
    }
    recorder.finish(outcome, at(99_000))
}

fn raw_record(frames: &[(&str, &str)]) -> RequestRecord {
    record(RawFrameDecoder::default(), frames, Ok(Finish::default()))
}

fn decoded(
    decode: impl Fn(RawAnswer<'_>, &mut Recorder) -> Result<(), RequestError> + Send + Sync + 'static,
    raw: RequestRecord,
) -> RequestRecord {
    decode_raw(&ByFunction(decode), raw)
}

fn in_stream(story: &str) -> RequestError {
    RequestError::new(ErrorKind::InStream, story)
}

#[test]
fn an_answer_that_is_decoded_later_has_the_same_record() {
    let frames = [
        ("", r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#),
        ("", r#"{"choices":[{"index":0,"delta":{"content":"Hé"}}]}"#),
        ("", r#"{"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":"stop"}]}"#),
        ("", r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#),
    ];
    let chat = ChatSpec::new(CommonSpec::new("m"));
    let at_once = record(chat.decoder(&sample()), &frames, Ok(Finish::default()));
    assert_eq!((at_once.text.as_str(), at_once.deltas.len()), ("Héllo", 2));
    assert_eq!(decode_raw(&Replayed(chat), raw_record(&frames)), at_once);
}

#[test]
fn frames_have_their_names_their_data_and_their_arrivals() {
    let record = raw_record(&[("delta", "a\u{2028}b"), ("", "x: y"), ("end", "")]);
    let frames: Vec<_> = RawAnswer(&record).frames().collect();
    let seen: Vec<_> = frames.iter().map(|frame| (frame.event, frame.data)).collect();
    assert_eq!(seen, [("delta", "a\u{2028}b"), ("", "x: y"), ("end", "")]);
    assert_eq!(frames[1].arrival, Arrival::new(at(2000), at(2007)));
    assert_eq!(RawAnswer(&record).sent(), at(1));
    let mut recorder = Recorder::new(0, Phase::Measure, &sample(), at(0));
    let document = b"{\n  \"a\": 1\n}";
    RawFrameDecoder::default().document(document, &mut recorder.at(at(5))).unwrap();
    let record = recorder.finish(Ok(Finish::default()), at(9));
    let frames: Vec<_> = RawAnswer(&record).frames().map(|frame| frame.data.as_bytes()).collect();
    assert_eq!(frames, [document]);
}

#[test]
fn a_failure_of_decoding_is_that_of_the_request() {
    let two = [("", "a"), ("", "b")];
    let failed = decoded(
        |answer, out| {
            let first = answer.frames().next().unwrap();
            out.at(first.arrival).delta(Delta::content("A"));
            Err(in_stream("overloaded"))
        },
        raw_record(&two),
    );
    assert_eq!(failed.outcome, Err(in_stream("overloaded")));
    assert_eq!((failed.text.as_str(), failed.ended), ("A", at(2000)));
    let panicked = decoded(|_, _| panic!("a dialect that panics"), raw_record(&two));
    assert_eq!(panicked.outcome.unwrap_err().kind, ErrorKind::Decode);
    let empty = decoded(|_, _| Ok(()), raw_record(&two));
    assert_eq!(empty.outcome.unwrap_err().kind, ErrorKind::Empty);
    let counted = |answer: RawAnswer<'_>, out: &mut Recorder| {
        let last = answer.frames().last().unwrap();
        out.at(last.arrival).usage(Usage::new(Some(1), Some(2)));
        Ok(())
    };
    assert!(decoded(counted, raw_record(&two)).is_success(), "tokens may decode to nothing");
}

#[test]
fn a_request_that_failed_keeps_its_error_and_what_arrived() {
    let timeout = RequestError::new(ErrorKind::Timeout, "idle");
    let partly = record(RawFrameDecoder::default(), &[("", "a")], Err(timeout.clone()));
    let expected = timeout.clone();
    let decode = move |answer: RawAnswer<'_>, out: &mut Recorder| {
        assert_eq!(answer.error(), Some(&expected));
        let first = answer.frames().next().unwrap();
        out.at(first.arrival).delta(Delta::content("A"));
        Err(in_stream("it is cut"))
    };
    let record = decoded(decode, partly);
    assert_eq!(record.outcome, Err(timeout));
    assert_eq!((record.text.as_str(), record.ended), ("A", at(99_000)));
    let refused = record_without_frames();
    assert_eq!(decoded(|_, _| panic!("there is nothing to decode"), refused.clone()), refused);
}

fn record_without_frames() -> RequestRecord {
    let error = RequestError::new(ErrorKind::Status, "503");
    record(RawFrameDecoder::default(), &[], Err(error))
}

#[test]
fn a_frame_that_is_not_text_is_an_error() {
    let mut recorder = Recorder::new(0, Phase::Measure, &sample(), at(0));
    let event = Event::from_data(b"\xff");
    let error = RawFrameDecoder::default().event(event, &mut recorder.at(at(1))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Decode);
    assert_eq!(recorder.pieces(), 0);
}

#[test]
fn a_request_is_sent_as_it_was_encoded() {
    let codec = DeferredCodec::new(Framing::Lines);
    assert_eq!(codec.framing(), Framing::Lines);
    let ready = ReadyRequest::new("/ask", vec![("X-A".to_owned(), b"1".to_vec())], vec![0, 255]);
    let mut sample = Sample::new(Prompt::Ready(ready.clone()), 1, 1);
    sample.headers.push(("x-b".to_owned(), "2".to_owned()));
    let sent = codec.encode(&sample).unwrap();
    assert_eq!((&*sent.path, sent.body.as_ptr()), ("/ask", ready.body().as_ptr()));
    let headers: Vec<_> =
        sent.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    assert_eq!(headers, [("x-a", &b"1"[..]), ("x-b", &b"2"[..])]);
    assert_eq!(
        codec.encode(&Sample::new(Prompt::Ready(sent.into_ready()), 1, 1)).unwrap().headers["x-b"],
        "2"
    );
    let error = codec.encode(&Sample::new("text", 1, 1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Encode);
}
