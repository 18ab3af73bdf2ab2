//! The calls around a run: readiness, served models, and switches of the server.
//!
//! None of them is measured. The caller decides which of them a run makes, and when.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use servemark_core::{Clock, MonotonicClock};
use servemark_target::Timeouts;
use tokio::time::{Instant, sleep_until};

use crate::boxed::BoxFuture;
use crate::coding;
use crate::error::{ClientError, ClientErrorKind};
use crate::exchange::Exchange;
use crate::link::{Unobserved, WholeRequest};
use crate::pool::Pool;
use crate::request;
use crate::status::status_error;
use crate::target::Target;
use crate::watch::Watch;
use crate::web_page;

/// Client of a server's routes outside the benchmark.
///
/// Every call carries the target's credentials and has its own time-out. Dropping a call's future
/// closes its connection; the server may already have acted on it.
///
/// ```
/// use servemark_client::{Credentials, ServerControl, Target, TargetSpec};
/// use servemark_core::MonotonicClock;
/// use servemark_mock::{MockServer, MockSpec};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = MockServer::start(MockSpec::default())?;
/// let target = Target::new(&TargetSpec::new(server.base_url().parse()?), Credentials::new())?;
/// let control = ServerControl::new(target, MonotonicClock::start());
/// control.wait_ready("/v1/models", std::time::Duration::from_secs(60)).await?;
/// assert_eq!(control.models().await?, ["mock"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ServerControl {
    pool: Pool,
}

impl ServerControl {
    /// Creates a client for a target.
    pub fn new(target: Target, clock: MonotonicClock) -> Self {
        Self { pool: Pool::new(target, clock) }
    }

    /// Requests `route` until the answer is exactly 200, one second between two tries, and returns
    /// how long that took. Fails after `patience`; at least one try is made. A 404 of the route `/`
    /// counts as ready, because some servers serve nothing there. A
    /// [permanent](ClientError::is_permanent) failure, which waiting cannot fix, ends the wait at
    /// once.
    pub async fn wait_ready(
        &self,
        route: &str,
        patience: Duration,
    ) -> Result<Duration, ClientError> {
        self.wait_ready_reporting(route, patience, |_| {}).await
    }

    /// Like [`wait_ready`](Self::wait_ready), and passes each failure after which the wait goes on
    /// to `on_failure`.
    pub async fn wait_ready_reporting(
        &self,
        route: &str,
        patience: Duration,
        mut on_failure: impl FnMut(&ClientError),
    ) -> Result<Duration, ClientError> {
        let clock = self.pool.clock();
        let started = clock.now();
        let deadline = started + patience;
        loop {
            let outcome = self.call(Method::GET, route, None, READY_TRY).await;
            let now = clock.now();
            match outcome {
                Ok(_) => return Ok(now.since(started)),
                Err(error) if route == "/" && error.status() == Some(404) => {
                    return Ok(now.since(started));
                }
                Err(error) if error.is_permanent() => return Err(error),
                Err(error) if now >= deadline => return Err(self.not_ready(patience, error)),
                Err(error) => {
                    on_failure(&error);
                    let next = deadline.min(now + READY_PAUSE);
                    sleep_until(Instant::from_std(clock.instant(next))).await;
                }
            }
        }
    }

    /// Returns the names of the models that the server lists at `/v1/models`.
    pub async fn models(&self) -> Result<Vec<String>, ClientError> {
        Ok(self.served_models().await?.into_iter().map(|model| model.id).collect())
    }

    /// Returns the models that the server lists at `/v1/models`, with the source of each.
    pub async fn served_models(&self) -> Result<Vec<ServedModel>, ClientError> {
        let list: ModelList = self.get("/v1/models").await?;
        Ok(list.data)
    }

    /// Returns the JSON document that the server answers a GET of `route` with.
    pub async fn document(&self, route: &str) -> Result<Value, ClientError> {
        self.get(route).await
    }

    /// Returns the tokens that a vLLM server finds in a prompt, without special tokens added.
    pub async fn tokenize(&self, model: &str, prompt: &str) -> Result<Vec<u32>, ClientError> {
        let question = json!({"model": model, "prompt": prompt, "add_special_tokens": false});
        let answer: Tokens = self.ask("/tokenize", &question).await?;
        Ok(answer.tokens)
    }

    /// Returns the text that a vLLM server decodes from tokens.
    pub async fn detokenize(&self, model: &str, tokens: &[u32]) -> Result<String, ClientError> {
        let question = json!({"model": model, "tokens": tokens});
        let answer: Detokenized = self.ask("/detokenize", &question).await?;
        Ok(answer.prompt)
    }

    /// Returns an SGLang server's description of its model, from `/model_info`.
    pub async fn model_info(&self) -> Result<ModelInfo, ClientError> {
        self.get("/model_info").await
    }

    /// Returns an SGLang server's description of itself, from `/server_info`.
    pub async fn server_info(&self) -> Result<ServerInfo, ClientError> {
        Ok(ServerInfo { value: self.get("/server_info").await? })
    }

    /// Returns the server's Prometheus metrics as text, from `/metrics`.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let body = self.call(Method::GET, "/metrics", None, QUESTION).await?;
        Ok(lossy_text(body))
    }

    /// Returns the text at `route`, which must arrive within `limit` and have less than 16 MiB.
    pub(crate) async fn text(&self, route: &str, limit: Duration) -> Result<String, ClientError> {
        let body = self.call(Method::GET, route, None, limit).await?;
        if body.len() >= LONGEST_TEXT {
            return Err(too_long());
        }
        Ok(lossy_text(body))
    }

    /// Empties the prefix cache with a POST to `route`, which depends on the dialect.
    pub async fn flush_cache(&self, route: &str) -> Result<(), ClientError> {
        self.call(Method::POST, route, None, FLUSH).await.map(drop)
    }

    /// Sends `document` in a POST to `route` and ignores the content of the answer.
    pub async fn post(&self, route: &str, document: &Value) -> Result<(), ClientError> {
        self.call(Method::POST, route, Some(document), ANSWER).await.map(drop)
    }

    /// Starts the server's profiler.
    pub async fn start_profile(&self, options: Option<&Value>) -> Result<(), ClientError> {
        self.call(Method::POST, "/start_profile", options, PROFILE).await.map(drop)
    }

    /// Stops the server's profiler, which may write its trace before it answers.
    pub async fn stop_profile(&self, options: Option<&Value>) -> Result<(), ClientError> {
        self.call(Method::POST, "/stop_profile", options, PROFILE).await.map(drop)
    }

    async fn get<T: DeserializeOwned>(&self, route: &str) -> Result<T, ClientError> {
        let body = self.call(Method::GET, route, None, QUESTION).await?;
        self.read(route, &body)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        route: &str,
        question: &Value,
    ) -> Result<T, ClientError> {
        let body = self.call(Method::POST, route, Some(question), QUESTION).await?;
        self.read(route, &body)
    }

    fn read<T: DeserializeOwned>(&self, route: &str, body: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(body).map_err(|error| {
            let url = self.url(route);
            let hint = if servemark_backends::is_web_page(body) { web_page::HINT } else { "" };
            let message = format!("{url} did not answer with the JSON that was expected{hint}");
            ClientError::new(ClientErrorKind::Decode, message).caused_by(error)
        })
    }

    /// Makes one call, whose answer must have status 200.
    fn call<'a>(
        &'a self,
        method: Method,
        route: &'a str,
        document: Option<&'a Value>,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, ClientError>> {
        Box::pin(async move {
            let request = self.request(method, route, document)?;
            let mut watch = Watch::start(self.pool.clock(), Timeouts::all(limit));
            let mut exchange =
                Exchange::begin(&self.pool, request, &mut watch, &mut Unobserved).await?;
            let body = exchange.collect(&mut watch, LONGEST_TEXT).await?;
            let status = exchange.status();
            exchange.release(&self.pool).await;
            if status == StatusCode::OK {
                return Ok(body);
            }
            Err(status_error(self.pool.target(), status, route, &body))
        })
    }

    /// Encodes the request of a text.
    pub(crate) fn question(&self, route: &str) -> Result<WholeRequest, ClientError> {
        self.request(Method::GET, route, None)
    }

    fn request(
        &self,
        method: Method,
        route: &str,
        document: Option<&Value>,
    ) -> Result<WholeRequest, ClientError> {
        let (mut headers, body) = payload(document);
        if self.target().headers().contains_key(ACCEPT_ENCODING) {
            headers.insert(ACCEPT_ENCODING, coding::identity());
        }
        request::build(self.target(), method, route, &headers, body)
    }

    pub(crate) fn target(&self) -> &Target {
        self.pool.target()
    }

    pub(crate) fn clock(&self) -> MonotonicClock {
        self.pool.clock()
    }

    fn not_ready(&self, patience: Duration, last: ClientError) -> ClientError {
        let base = self.pool.target().base_url();
        let message = format!("{base} was not ready within {patience:?}");
        ClientError::new(ClientErrorKind::Timeout, message).caused_by(last)
    }

    fn url(&self, route: &str) -> String {
        self.pool.target().base_url().url(route)
    }
}

/// Returns the error of an answer whose end is not awaited.
pub(crate) fn too_long() -> ClientError {
    let message = format!("the answer has {} MiB or more", LONGEST_TEXT >> 20);
    ClientError::new(ClientErrorKind::Decode, message)
}

/// Returns a body as text. Bytes that are no text are replaced.
fn lossy_text(body: Vec<u8>) -> String {
    // `from_utf8_lossy` alone takes six times longer for a body that is text, as most are.
    String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn payload(document: Option<&Value>) -> (HeaderMap, Bytes) {
    let mut headers = HeaderMap::new();
    let Some(document) = document else { return (headers, Bytes::new()) };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (headers, document.to_string().into())
}

#[derive(Debug, Deserialize)]
struct ModelList {
    data: Vec<ServedModel>,
}

/// A model that a server lists.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct ServedModel {
    /// Name of the model in requests.
    pub id: String,
    /// Where the server loaded the model from, if it says so: vLLM servers do.
    pub root: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    tokens: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct Detokenized {
    prompt: String,
}

/// An SGLang server's description of its model.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
pub struct ModelInfo {
    /// Where the server loaded the tokenizer from.
    pub tokenizer_path: Option<String>,
    /// Where the server loaded the model from.
    pub model_path: Option<String>,
}

impl ModelInfo {
    /// Returns the path of the tokenizer, or of the model if there is none.
    pub fn tokenizer(&self) -> Option<&str> {
        self.tokenizer_path.as_deref().or(self.model_path.as_deref())
    }
}

/// An SGLang server's description of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerInfo {
    value: Value,
}

impl ServerInfo {
    /// Returns the whole description.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the mean number of tokens that a step of speculative decoding yields, as the first
    /// scheduler counts them since the server's start. With disaggregated prefill it is read from
    /// the decode server.
    pub fn accept_length(&self) -> Option<f64> {
        let server = self.value.get("decode").map_or(Some(&self.value), |decode| decode.get(0))?;
        server.get("internal_states")?.get(0)?.get("avg_spec_accept_length")?.as_f64()
    }
}

/// SGLang's client gives each readiness probe five seconds and waits one second between two.
const READY_TRY: Duration = Duration::from_secs(5);
const READY_PAUSE: Duration = Duration::from_secs(1);
const QUESTION: Duration = Duration::from_secs(30);
/// Time limit of a request that empties the cache: SGLang is asked to wait up to a minute for
/// running requests first.
const FLUSH: Duration = Duration::from_secs(90);
/// Time limit of the requests of [`ServerControl::post`], for which SGLang's client waits ten
/// minutes.
const ANSWER: Duration = Duration::from_secs(600);
/// Time limit of a request that starts or stops the server's profiler: the trace of a long run
/// takes minutes to write.
const PROFILE: Duration = Duration::from_secs(15 * 60);
/// Maximum size of an answer in bytes; the answers of all these routes are well below it.
pub(crate) const LONGEST_TEXT: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accepts(info: Value, expected: Option<f64>) {
        assert_eq!(ServerInfo { value: info }.accept_length(), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(lossy_text(b"a 1\n".to_vec()), "a 1\n");
        assert_eq!(lossy_text(b"a\xff 1\n".to_vec()), "a\u{fffd} 1\n");
    }

    #[test]
    fn the_accept_length_is_the_first_schedulers() {
        let states = json!([{"avg_spec_accept_length": 2.5}, {"avg_spec_accept_length": 9.0}]);
        accepts(json!({"internal_states": states}), Some(2.5));
        accepts(
            json!({"internal_states": [{}], "decode": [{"internal_states": states}]}),
            Some(2.5),
        );
        accepts(json!({"internal_states": states, "decode": []}), None);
        accepts(json!({"internal_states": []}), None);
        accepts(json!("nothing"), None);
    }

    #[test]
    fn a_tokenizer_is_named_by_its_own_path_first() {
        let info = |text| serde_json::from_str::<ModelInfo>(text).unwrap();
        let both = info(r#"{"model_path": "m", "tokenizer_path": "t", "is_generation": true}"#);
        assert_eq!(both.tokenizer(), Some("t"));
        assert_eq!(info(r#"{"model_path": "m"}"#).tokenizer(), Some("m"));
        assert_eq!(info("{}").tokenizer(), None);
    }
}
