//! From a request to what is sent in reply.

use std::time::Duration;

use servemark_core::Clock;
use servemark_pacer::MachineClock;

use super::metrics;
use super::route::{Route, VERSION};
use super::site::Site;
use super::work::OpenWork;
use crate::answer::{
    Answer, Ask, AskFault, Author, Dialect, Document, Injected, Schedule, Stream, error_document,
    refusal,
};
use crate::http::{End, Framing, KeepAlive, Refusal, Request, document};
use crate::reception::Reception;
use crate::truth::{OpenTruth, TruthLog, write_truth};

/// What is sent in reply.
#[derive(Debug)]
pub(super) enum Reply {
    /// Bytes over time, with their truth, the work that they are, and how long after them the
    /// connection ends where that is a fault.
    Answer(Answer, OpenTruth, OpenWork, Option<Duration>),
    /// Bytes at once.
    Now(Vec<u8>, End),
    /// The truth log.
    Truth(KeepAlive),
}

impl Site {
    /// The reply to what has just been read.
    pub(super) fn reply_to(
        &self,
        request: Result<Request, Refusal>,
        reception: Reception,
    ) -> Reply {
        match request {
            Ok(request) => self.reply(&request, reception),
            Err(refusal) => {
                error(refusal.status(), "this server cannot read that request", KeepAlive::No)
            }
        }
    }

    fn reply(&self, request: &Request, reception: Reception) -> Reply {
        self.logs.requests.keep(request, reception);
        let head = &request.head;
        let keep_alive = head.keep_alive();
        if reception.at < self.ready_at {
            return error(503, "the server is not ready yet", keep_alive);
        }
        match Route::of(head.method(), head.path()) {
            Route::Answer(dialect) => self.answer(request, dialect, reception),
            Route::ClearTruth => {
                self.logs.truth.take();
                now("", keep_alive)
            }
            Route::Control => {
                self.logs.control_calls.keep(request, reception);
                now("", keep_alive)
            }
            Route::Health => now("", keep_alive),
            Route::Metrics => {
                let counts = self.work.counts(MachineClock.now());
                let text = metrics::text(&counts, &self.spec.model);
                reply(200, metrics::CONTENT_TYPE, &text, keep_alive)
            }
            Route::Model => match self.model_of(head.path()) {
                Ok(model) => now(&model, keep_alive),
                Err(fault) => refused(&fault, keep_alive),
            },
            Route::ModelInfo => now(&self.model_info(), keep_alive),
            Route::Models => now(&self.models(), keep_alive),
            Route::ServerInfo => now(&self.server_info(), keep_alive),
            Route::Truth => Reply::Truth(keep_alive),
            Route::Version => now(VERSION, keep_alive),
            Route::Unknown => {
                let message = format!("there is no route {} {}", head.method(), head.path());
                error(404, &message, keep_alive)
            }
        }
    }

    fn answer(&self, request: &Request, dialect: Dialect, reception: Reception) -> Reply {
        let keep_alive = request.head.keep_alive();
        let number = self.count_answer();
        let mut ask = match Ask::parse(&request.body) {
            Ok(ask) => ask,
            Err(problem) => return error(400, &problem.to_string(), keep_alive),
        };
        if streams(request) {
            ask = ask.streamed();
        }
        if matches!(dialect, Dialect::Ollama { .. }) {
            ask = ask.streamed_by_default();
        }
        let dialect = dialect.of(&ask);
        if let Some(fault) = ask.fault(dialect, &self.spec.model, self.spec.strict_model) {
            return refused(&fault, keep_alive);
        }
        let injected = Injected::of(&self.spec.faults, number);
        let schedule = Schedule::new(&self.spec, reception.at, number, &injected);
        let author = Author::new(&self.spec, &ask, dialect, number, self.created);
        let begins = self.seat(reception.at, schedule.lasts(author.length()));
        let (schedule, close_after) = (schedule.beginning(begins), injected.close_after);
        let answer = self.compose(&author, schedule, injected, keep_alive);
        let index = index(request).unwrap_or(number as usize - 1);
        let truth = self.logs.truth.open(index, reception, answer.pieces(), author.prompts());
        let work = self.work.open(reception.at, begins, author.all_prompt_tokens());
        Reply::Answer(answer, truth, work, close_after)
    }

    fn compose(
        &self,
        author: &Author<'_>,
        schedule: Schedule,
        injected: Injected,
        keep_alive: KeepAlive,
    ) -> Answer {
        if let Some(status) = &injected.status {
            return Answer::Document(Document::status(status, &schedule, &injected, keep_alive));
        }
        if let Some(script) = author.script(&self.scripts, injected.style()) {
            let stream =
                Stream::new(script, author.parts(), author.total(), schedule, injected, keep_alive);
            return Answer::Stream(Box::new(stream));
        }
        let (body, length) = (author.document(&self.vectors), author.length());
        let document = Document::new(&body, length, &schedule, &injected, keep_alive);
        Answer::Document(document.with_tokens(author.all_tokens()))
    }
}

/// The whole truth log as a response, and how that ends. A log that cannot be written down ends
/// with the connection, before its first byte.
pub(super) fn truth_document(log: &TruthLog, keep_alive: KeepAlive) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    if write_truth(&log.rows(), &mut body).is_err() {
        return (Vec::new(), End::Close);
    }
    let framing = Framing::Length(body.len());
    (document(200, "application/jsonl", &body, framing, keep_alive), keep_alive.into())
}

/// Whether a stream is asked for beside the body: by the route, or by `DashScope`'s header.
fn streams(request: &Request) -> bool {
    let head = &request.head;
    let is_enabled = head.header("x-dashscope-sse").is_some_and(|value| value == "enable");
    is_enabled || head.path().ends_with("/generate_stream")
}

/// The number by which the client knows its request.
fn index(request: &Request) -> Option<usize> {
    request.head.header("x-servemark-request")?.parse().ok()
}

fn now(body: &str, keep_alive: KeepAlive) -> Reply {
    reply(200, JSON, body, keep_alive)
}

fn error(status: u16, message: &str, keep_alive: KeepAlive) -> Reply {
    reply(status, JSON, &error_document(status, message), keep_alive)
}

/// A request that cannot be answered, told as OpenAI's API tells it.
fn refused(fault: &AskFault, keep_alive: KeepAlive) -> Reply {
    let (status, body) = refusal(fault);
    reply(status, JSON, &body, keep_alive)
}

fn reply(status: u16, content_type: &str, body: &str, keep_alive: KeepAlive) -> Reply {
    let framing = Framing::Length(body.len());
    let bytes = document(status, content_type, body.as_bytes(), framing, keep_alive);
    Reply::Now(bytes, keep_alive.into())
}

const JSON: &str = "application/json";
