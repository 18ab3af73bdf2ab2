//! From a request to what is sent in reply.

use servemark_core::{Clock, Stamp};
use servemark_pacer::MachineClock;

use super::route::Route;
use super::worker::{Worker, next};
use crate::answer::{
    Answer, Ask, Author, Dialect, Document, Injected, Schedule, Stream, error_document,
};
use crate::http::{End, Framing, KeepAlive, Refusal, Request, document};
use crate::truth::OpenTruth;

/// What is sent in reply.
#[derive(Debug)]
pub(super) enum Reply {
    /// Bytes over time, with their truth.
    Answer(Answer, OpenTruth),
    /// Bytes at once.
    Now(Vec<u8>, End),
    /// The truth log.
    Truth(KeepAlive),
}

/// The reply to what is no request.
pub(super) fn refusal(refusal: Refusal) -> Reply {
    error(refusal.status(), "this server cannot read that request", KeepAlive::No)
}

impl Worker {
    /// The reply to a request that has just been read.
    pub(super) fn reply(&self, request: &Request) -> Reply {
        let received = MachineClock.now();
        self.logs.requests.keep(request);
        let head = &request.head;
        let keep_alive = head.keep_alive();
        if received < self.ready_at {
            return error(503, "the server is not ready yet", keep_alive);
        }
        match Route::of(head.method(), head.path()) {
            Route::Answer(dialect) => self.answer(request, dialect, received),
            Route::ClearTruth => {
                self.logs.truth.take();
                now("", keep_alive)
            }
            Route::Control => {
                self.logs.control_calls.keep(request);
                now("", keep_alive)
            }
            Route::Health => now("", keep_alive),
            Route::ModelInfo => now(&self.model_info(), keep_alive),
            Route::Models => now(&self.models(), keep_alive),
            Route::ServerInfo => now(&self.server_info(), keep_alive),
            Route::Truth => Reply::Truth(keep_alive),
            Route::Unknown => {
                let message = format!("there is no route {} {}", head.method(), head.path());
                error(404, &message, keep_alive)
            }
        }
    }

    fn answer(&self, request: &Request, dialect: Dialect, received: Stamp) -> Reply {
        let keep_alive = request.head.keep_alive();
        let number = next(&self.answers);
        let ask = match Ask::parse(&request.body) {
            Ok(ask) => ask,
            Err(problem) => return error(400, &problem.to_string(), keep_alive),
        };
        let injected = Injected::of(&self.spec.faults, number);
        let schedule = Schedule::new(&self.spec, received, number, &injected);
        let author = Author::new(&self.spec, &ask, dialect, number, self.created);
        let answer = compose(&author, schedule, injected, keep_alive);
        let index = index(request).unwrap_or(number as usize - 1);
        let truth = self.logs.truth.open(index, received, answer.pieces());
        Reply::Answer(answer, truth)
    }
}

fn compose(
    author: &Author<'_>,
    schedule: Schedule,
    injected: Injected,
    keep_alive: KeepAlive,
) -> Answer {
    if let Some(status) = &injected.status {
        return Answer::Document(Document::status(status, &schedule, &injected, keep_alive));
    }
    if let Some(script) = author.script(injected.style()) {
        return Answer::Stream(Box::new(Stream::new(script, schedule, injected, keep_alive)));
    }
    let (body, length) = (author.document(), author.length());
    Answer::Document(Document::new(&body, length, &schedule, &injected, keep_alive))
}

/// The number by which the client knows its request.
fn index(request: &Request) -> Option<usize> {
    request.head.header("x-servemark-request")?.parse().ok()
}

fn now(body: &str, keep_alive: KeepAlive) -> Reply {
    reply(200, body, keep_alive)
}

fn error(status: u16, message: &str, keep_alive: KeepAlive) -> Reply {
    reply(status, &error_document(status, message), keep_alive)
}

fn reply(status: u16, body: &str, keep_alive: KeepAlive) -> Reply {
    let framing = Framing::Length(body.len());
    let bytes = document(status, "application/json", body.as_bytes(), framing, keep_alive);
    Reply::Now(bytes, keep_alive.into())
}
