//! The transport from the load generator to an engine.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servemark_core::{
    Arrival, ArrivalClock, Clock, Delta, ErrorKind, Finish, Prompt, Recorder, RequestError, Sample,
    Sink, SpecialTokens, Stamp, Tokenizer, TokenizerError, Transport,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::detokenize::Detokenizer;
use crate::intake::{Intake, Waves};
use crate::reply_router::{Output, Piece, Reply};
use crate::{Engine, EnginePrompt, EngineRequest, PromptForm, RequestId, Submission};

/// Carries requests to an engine.
///
/// Where requests are [submitted](Submission) at once, the transport needs the number of requests
/// [announced](Self::expect) before each part of a run, because it submits none before all of them
/// have arrived.
pub struct EngineTransport {
    engine: Engine,
    tokenizer: Option<Arc<dyn Tokenizer>>,
    intake: Mutex<Intake>,
    next: AtomicU64,
}

/// A request ready to be numbered and submitted, or the reason why it cannot be; in either case it
/// counts towards its wave.
#[derive(Debug)]
pub struct EngineCall(Result<EngineRequest, RequestError>);

impl EngineTransport {
    /// Returns a transport to an engine. With a tokenizer, text prompts become token ids before
    /// they are due, and the engine's token ids become text.
    pub fn new(engine: Engine, tokenizer: Option<Arc<dyn Tokenizer>>) -> Self {
        Self { engine, tokenizer, intake: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// Announces the requests of the next part of a run.
    pub fn expect(&self, waves: Waves) {
        self.intake().expect(waves);
    }

    /// Submits the requests that have arrived, because no more will.
    pub fn hand_over(&self) {
        let waiting = self.intake().take();
        if !waiting.is_empty() {
            self.engine.generate(waiting);
        }
    }

    /// Submits a request or, with `None`, counts one that cannot be sent; a wave is submitted once
    /// it is complete.
    fn submit(&self, request: Option<EngineRequest>) {
        let ready = match self.engine.submission() {
            Submission::OneByOne => request.map(|request| vec![request]),
            Submission::AtOnce => self.intake().add(request),
        };
        if let Some(ready) = ready.filter(|ready| !ready.is_empty()) {
            self.engine.generate(ready);
        }
    }

    fn request(&self, call: EngineCall) -> Result<(EngineRequest, Replies), RequestError> {
        let request = EngineRequest { id: self.next.fetch_add(1, Relaxed), ..call.0? };
        let id = request.id;
        let inbox = self.engine.open(id)?;
        Ok((request, Replies { inbox, engine: self.engine.clone(), id, is_over: false }))
    }

    /// Builds the request to the engine, with zero in place of its number.
    fn engine_request(&self, prompt: EnginePrompt, sample: &Sample) -> EngineRequest {
        let sampling = self.engine.spec().sampling.clone();
        let request = EngineRequest::new(0, prompt, sample.output_tokens, sampling);
        let (prompt_tokens, adapter) = (sample.prompt_tokens, sample.adapter.clone());
        EngineRequest { prompt_tokens, adapter, ..request }
    }

    fn prompt(&self, prompt: &Prompt) -> Result<EnginePrompt, RequestError> {
        let encode_failed = |why: String| RequestError::new(ErrorKind::Encode, why);
        let form = self.engine.spec().prompts;
        match (prompt, form) {
            (Prompt::Messages(said), PromptForm::Chat) => {
                return Ok(EnginePrompt::Chat(said.clone()));
            }
            (Prompt::TokenIds(ids), _) => return Ok(EnginePrompt::Ids(ids.clone())),
            _ => {}
        }
        let text = prompt.text().ok_or_else(|| encode_failed(ONLY_TEXT.to_owned()))?;
        match (form, &self.tokenizer) {
            (PromptForm::Chat, _) => Ok(EnginePrompt::from_user_text(&text)),
            (PromptForm::Tokens, Some(tokenizer)) => {
                let ids = tokenizer.encode(&text, SpecialTokens::Add);
                ids.map(EnginePrompt::Ids).map_err(|error| encode_failed(error.to_string()))
            }
            _ => Ok(EnginePrompt::Text(text.into_owned())),
        }
    }

    fn intake(&self) -> MutexGuard<'_, Intake> {
        self.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for EngineTransport {
    type Prepared = EngineCall;

    fn prepare(&self, sample: &Sample) -> Result<EngineCall, RequestError> {
        let prompt = if sample.media.is_empty() && sample.audio.is_none() {
            self.prompt(&sample.prompt)
        } else {
            Err(RequestError::new(ErrorKind::Encode, ONLY_TEXT))
        };
        Ok(EngineCall(prompt.map(|prompt| self.engine_request(prompt, sample))))
    }

    fn bytes(call: &EngineCall) -> usize {
        call.0.as_ref().map_or(0, |request| request.prompt.bytes())
    }

    async fn execute(
        &self,
        call: EngineCall,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        let (request, mut replies) = match self.request(call) {
            Ok(request) => request,
            Err(error) => {
                self.submit(None);
                return Err(error);
            }
        };
        self.submit(Some(request));
        let mut answer = EngineAnswer::new(recorder, self.tokenizer.as_deref());
        let mut watch = pin!(sleep_until(replies.deadline()));
        loop {
            match replies.next(watch.as_mut()).await {
                Reply::Taken(at) => answer.recorder.record_sent(at),
                Reply::Piece(piece) => answer.piece(piece, self.engine.clock().now())?,
                Reply::Failed(error) => return Err(error),
                Reply::Finished { at, usage, reason } => {
                    answer.rest(at)?;
                    answer.recorder.body(at, 0);
                    answer.recorder.at(at).usage(usage);
                    return Ok(Finish::new(Some(reason)));
                }
            }
        }
    }
}

impl std::fmt::Debug for EngineTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineTransport").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// The replies to one request. Dropping this cancels the request unless its answer is over.
struct Replies {
    inbox: UnboundedReceiver<Reply>,
    engine: Engine,
    id: RequestId,
    is_over: bool,
}

impl Replies {
    /// Waits for the next reply. Kills an engine that is silent for too long.
    async fn next(&mut self, mut watch: Pin<&mut Sleep>) -> Reply {
        loop {
            tokio::select! {
                biased;
                reply = self.inbox.recv() => {
                    let gone = || RequestError::new(ErrorKind::Truncated, "the engine has ended");
                    let reply = reply.unwrap_or_else(|| Reply::Failed(gone()));
                    self.is_over = reply.is_last();
                    return reply;
                }
                () = watch.as_mut() => {
                    if self.engine.clock().now() >= self.engine.deadline() {
                        self.engine.give_up();
                    }
                    watch.as_mut().reset(self.deadline());
                }
            }
        }
    }

    fn deadline(&self) -> Instant {
        Instant::from_std(self.engine.clock().instant(self.engine.deadline()))
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        if !self.is_over {
            self.engine.cancel(self.id);
        }
    }
}

/// One answer as it is recorded.
struct EngineAnswer<'a> {
    recorder: &'a mut Recorder,
    tokenizer: Option<&'a dyn Tokenizer>,
    tokens: Detokenizer,
}

impl<'a> EngineAnswer<'a> {
    fn new(recorder: &'a mut Recorder, tokenizer: Option<&'a dyn Tokenizer>) -> Self {
        recorder.arrival_clock(ArrivalClock::Engine);
        Self { recorder, tokenizer, tokens: Detokenizer::default() }
    }

    fn piece(&mut self, piece: Piece, seen: Stamp) -> Result<(), RequestError> {
        let arrival = Arrival::new(piece.at, seen);
        let (tokens, text) = match piece.output {
            Output::Text { tokens, text } => (tokens, text),
            Output::Token(id) => (1, self.text_of(id)?),
        };
        self.recorder.body(arrival, text.len());
        self.recorder.at(arrival).delta(Delta::content(&text).with_tokens(Some(tokens)));
        Ok(())
    }

    fn text_of(&mut self, id: u32) -> Result<String, RequestError> {
        let Some(tokenizer) = self.tokenizer else { return Ok(String::new()) };
        self.tokens.push(id, |ids| tokenizer.decode(ids)).map_err(not_text)
    }

    /// Records the text that is still incomplete at the end.
    fn rest(&mut self, at: Stamp) -> Result<(), RequestError> {
        let (Some(tokenizer), tokens) = (self.tokenizer, std::mem::take(&mut self.tokens)) else {
            return Ok(());
        };
        let text = tokens.rest(|ids| tokenizer.decode(ids)).map_err(not_text)?;
        if !text.is_empty() {
            self.recorder.at(at).delta(Delta::content(&text).with_tokens(Some(0)));
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is for map_err")]
fn not_text(error: TokenizerError) -> RequestError {
    RequestError::new(ErrorKind::Decode, error.to_string())
}

const ONLY_TEXT: &str = "an offline engine accepts only text or token ids";
