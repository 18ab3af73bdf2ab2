//! The reply to each request.

use std::time::Duration;

use servemark_core::{Clock, Stamp};
use servemark_pacer::MachineClock;

use super::delivery::Delivery;
use super::metrics::{self, ServerSnapshot};
use super::route::{Route, VERSION};
use super::state::ServerState;
use super::work::PromptTokens;
use crate::answer::{
    Ask, AskFault, Dialect, Document, Injected, Length, MockAnswer, ResponseBuilder, Schedule,
    Stream, TrueTimes, error_document, refusal,
};
use crate::http::{End, Framing, KeepAlive, Refusal, Request, document};
use crate::reception::Reception;
use crate::truth::{TruthLog, write_truth};

/// The reply to a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// An answer sent over time, and the time from its end to the end of the connection if a fault
    /// closes it.
    Answer(Box<Delivery>, Option<Duration>),
    /// Bytes sent at once.
    Now(Vec<u8>, End),
    /// The truth log, which another thread serialises.
    SimulatedTimes(KeepAlive),
}

impl ServerState {
    /// Returns the reply to a request, or to one that cannot be parsed.
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
        match Route::of(head.method(), head.path(), self.spec.engine) {
            Route::Answer(dialect) => self.answer(request, dialect, reception),
            Route::ClearTruth => {
                self.logs.truth.take();
                now("", keep_alive)
            }
            Route::Control => {
                self.logs.control_calls.keep(request, reception);
                if ["/flush_cache", "/reset_prefix_cache"].contains(&head.path()) {
                    self.flush_cache();
                }
                now("", keep_alive)
            }
            Route::Health => now("", keep_alive),
            Route::Metrics => {
                let now = MachineClock.now();
                let shown = ServerSnapshot {
                    counts: self.work.counts(now),
                    kv_use: self.kv_use(now),
                    has_transfers: !self.spec.kv_transfer.is_zero(),
                    cache: self.cache_counts(),
                };
                let text = metrics::text(&shown, &self.work.times(), &self.spec);
                reply(200, metrics::CONTENT_TYPE, &text, keep_alive)
            }
            Route::Model => match self.model_of(head.path()) {
                Ok(model) => now(&model, keep_alive),
                Err(fault) => refused(&fault, keep_alive),
            },
            Route::LlamaProps => now(&self.llama_props(), keep_alive),
            Route::ModelInfo => now(&self.model_info(), keep_alive),
            Route::Models => now(&self.models(), keep_alive),
            Route::OllamaTags => now(&self.ollama_tags(), keep_alive),
            Route::ServerInfo => now(&self.server_info(), keep_alive),
            Route::SimulatedTimes => Reply::SimulatedTimes(keep_alive),
            Route::TgiInfo => now(&self.tgi_info(), keep_alive),
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
        let preempted_at = injected.preempted_at;
        let response = ResponseBuilder::new(&self.spec, &ask, dialect, number, self.created);
        let cached = self.look_up(&request.body);
        let prefill = self.prefill(response.all_prompt_tokens(), cached);
        let received = reception.at + self.spec.network;
        let schedule = Schedule::new(&self.spec, received, number, &injected);
        let schedule = schedule.with_prefill(prefill);
        let queued = received + self.spec.frontend;
        let blocks =
            self.blocks(response.all_prompt_tokens().saturating_add(response.all_tokens()));
        let begins = self.acquire_slot(queued, schedule.lasts(response.length()), blocks);
        let (schedule, close_after) = (schedule.beginning(begins), injected.close_after);
        let times = self.true_times(received, queued, begins, &schedule, response.length());
        let told = cached.filter(|_| !self.spec.hides_cached);
        let response = response.with_times(times).with_cached(told);
        let answer = self.compose(&response, schedule, injected, keep_alive);
        let index = index(request).unwrap_or(number as usize - 1);
        let truth = self.logs.truth.open(index, reception, answer.pieces(), response.prompts());
        let truth = truth.with_parts(times.parts());
        let prompt =
            PromptTokens { all: response.all_prompt_tokens(), cached: cached.unwrap_or_default() };
        let work = self.work.open(received, (queued, begins), prompt);
        let delivery = Delivery::new(answer, truth, work, times).preempted_at(preempted_at);
        Reply::Answer(Box::new(delivery), close_after)
    }

    /// Returns the true times of an answer. Those of its output are still those of a document,
    /// which is sent whole when the last piece of a stream would be.
    fn true_times(
        &self,
        received: Stamp,
        queued: Stamp,
        begins: Stamp,
        schedule: &Schedule,
        length: Length,
    ) -> TrueTimes {
        let first = schedule.piece(0);
        TrueTimes {
            received,
            queued,
            begins,
            prefilled: first - self.spec.kv_transfer,
            kv_transfer: self.spec.kv_transfer,
            network: self.spec.network,
            first_sent: None,
            now: begins + schedule.lasts(length),
            zero_unix_ns: self.zero_unix_ns,
        }
    }

    fn compose(
        &self,
        response: &ResponseBuilder<'_>,
        schedule: Schedule,
        injected: Injected,
        keep_alive: KeepAlive,
    ) -> MockAnswer {
        if let Some(status) = &injected.status {
            return MockAnswer::Document(Document::status(
                status, &schedule, &injected, keep_alive,
            ));
        }
        if let Some(script) = response.script(&self.scripts, injected.style()) {
            let stream = Stream::new(
                script,
                response.parts(),
                response.total(),
                schedule,
                injected,
                keep_alive,
            );
            return MockAnswer::Stream(Box::new(stream));
        }
        let (body, length) = (response.document(&self.vectors), response.length());
        let headers = response.headers();
        let document = Document::new(&body, length, &schedule, (&injected, &headers), keep_alive);
        MockAnswer::Document(document.with_tokens(response.all_tokens()))
    }
}

/// Returns the whole truth log as a response, and how the response ends. If the log cannot be
/// serialised, the connection ends without a response.
pub(super) fn truth_document(log: &TruthLog, keep_alive: KeepAlive) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    if write_truth(&log.rows(), &mut body).is_err() {
        return (Vec::new(), End::Close);
    }
    let framing = Framing::Length(body.len());
    (document(200, "application/jsonl", &body, framing, keep_alive), keep_alive.into())
}

/// Whether a stream is requested outside the body: by the route, or by `DashScope`'s header.
fn streams(request: &Request) -> bool {
    let head = &request.head;
    let is_enabled = head.header("x-dashscope-sse").is_some_and(|value| value == "enable");
    is_enabled || head.path().ends_with("/generate_stream")
}

/// Returns the client's own number of the request, from its `x-servemark-request` header.
fn index(request: &Request) -> Option<usize> {
    request.head.header("x-servemark-request")?.parse().ok()
}

fn now(body: &str, keep_alive: KeepAlive) -> Reply {
    reply(200, JSON, body, keep_alive)
}

fn error(status: u16, message: &str, keep_alive: KeepAlive) -> Reply {
    reply(status, JSON, &error_document(status, message), keep_alive)
}

/// Returns a refusal in the form of OpenAI's API.
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
