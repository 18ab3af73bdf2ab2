//! Asks a server what it is, from its address alone.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_client::{BaseUrl, ServerControl, Target, TargetSpec};
use servemark_core::{ErrorKind, JsonObject, MonotonicClock, RequestError, Stamp};
use servemark_telemetry::Readings;

use super::ExploreSpec;
use super::level::{Load, Role, plan_of};
use crate::runtime::on_this_thread;
use crate::{ExecuteError, RunContext, execute};

/// Facts about a server, as far as it reports them.
#[derive(Clone, Debug)]
pub struct ExploredServer {
    /// Base URL of the server.
    pub url: BaseUrl,
    /// Engine behind the address.
    pub engine: Engine,
    /// Version of the engine, if the server reports it.
    pub version: Option<String>,
    /// Name of the model.
    pub model: String,
    /// Route that requests are sent to.
    pub route: ChatRoute,
    /// Whether answers are asked for with the server's token counts (`stream_options`), which older
    /// servers refuse.
    pub asks_usage: bool,
    /// Whether answers contain the server's own token counts. If not, answers are counted with the
    /// bundled tokenizer.
    pub reports_usage: bool,
    /// Whether the server shows its metrics under `/metrics`.
    pub shows_metrics: bool,
    /// Duration of the first answer.
    pub first_answer: Duration,
}

/// Engine of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// llama.cpp's server.
    LlamaCpp,
    /// LMDeploy's server.
    Lmdeploy,
    /// Ollama's server.
    Ollama,
    /// The bundled simulator.
    Simulator,
    /// SGLang's server.
    Sglang,
    /// TensorRT-LLM's server.
    TensorrtLlm,
    /// Hugging Face's Text Generation Inference.
    Tgi,
    /// vLLM's server.
    Vllm,
    /// A server with OpenAI's routes that does not report its engine.
    Unknown,
}

impl Engine {
    /// Returns the name, as JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Lmdeploy => "lmdeploy",
            Self::Ollama => "ollama",
            Self::Simulator => "servemark simulator",
            Self::Sglang => "sglang",
            Self::TensorrtLlm => "tensorrt-llm",
            Self::Tgi => "tgi",
            Self::Vllm => "vllm",
            Self::Unknown => "unknown",
        }
    }

    /// Returns how answers get the engine's own times if they have none; `None` if no way is known.
    pub const fn way_to_its_times(self) -> Option<&'static str> {
        match self {
            Self::Sglang => {
                Some("SGLang tells them on its own route: bench-serving --backend sglang")
            }
            Self::Vllm => {
                Some("vLLM tells them if it is started with --enable-per-request-metrics")
            }
            Self::LlamaCpp
            | Self::Lmdeploy
            | Self::Ollama
            | Self::Simulator
            | Self::TensorrtLlm
            | Self::Tgi
            | Self::Unknown => None,
        }
    }

    /// Returns the engine whose list of models has `owner` as `owned_by`.
    fn of_owner(owner: &str) -> Option<Self> {
        Some(match owner {
            "llamacpp" => Self::LlamaCpp,
            "library" => Self::Ollama,
            "lmdeploy" => Self::Lmdeploy,
            "servemark" => Self::Simulator,
            "sglang" => Self::Sglang,
            "tensorrt_llm" => Self::TensorrtLlm,
            "vllm" => Self::Vllm,
            _ => return None,
        })
    }

    /// Returns the conventions that requests follow.
    fn backend(self, route: ChatRoute) -> BackendName {
        match (self, route) {
            (Self::Sglang, ChatRoute::Chat) => BackendName::SglangOaiChat,
            (Self::Sglang, ChatRoute::Completions) => BackendName::SglangOai,
            (_, ChatRoute::Chat) => BackendName::VllmChat,
            (_, ChatRoute::Completions) => BackendName::Vllm,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Route of OpenAI's API that generates text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChatRoute {
    /// The route `/v1/chat/completions`.
    Chat,
    /// The route `/v1/completions`.
    Completions,
}

impl ChatRoute {
    /// Returns the path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

impl ExploredServer {
    /// Returns the name of the backend that requests are sent by.
    pub(super) fn backend(&self) -> BackendName {
        self.engine.backend(self.route)
    }

    /// Returns the wire dialect for requests of up to `output_tokens` tokens.
    pub(super) fn wire(&self, output_tokens: u32) -> BackendSpec {
        let mut common = CommonSpec::new(&self.model);
        // Ollama and TGI know only the older name of `max_completion_tokens`.
        common.extra_body =
            JsonObject::from_iter([("max_tokens".to_owned(), output_tokens.into())]);
        let wire = BackendSpec::new(self.backend(), common);
        if self.asks_usage { wire.with_usage() } else { wire }
    }
}

/// Asks a server for its engine, model and route, and sends it the first request.
pub(super) fn identify(
    spec: &ExploreSpec,
    context: &RunContext,
) -> Result<ExploredServer, ExecuteError> {
    let mut server = on_this_thread(context.unless_stopped(described(spec, context)))?;
    let chat = match first_answer(&mut server, spec, context)? {
        Ok(answer) => return Ok(answer.of(server)),
        Err(error) => error,
    };
    server.route = ChatRoute::Completions;
    match first_answer(&mut server, spec, context)? {
        Ok(answer) => Ok(answer.of(server)),
        // If the second route does not exist, the error of the first one is more useful.
        Err(Refused { status: Some(404 | 405), .. }) => Err(chat.of(server)),
        Err(completions) => Err(completions.of(server)),
    }
}

/// Returns the description of a server whose route and counts are not known yet.
async fn described(
    spec: &ExploreSpec,
    context: &RunContext,
) -> Result<ExploredServer, ExecuteError> {
    let url = spec.target.base_url.clone();
    let control = control(&spec.target, context)?;
    let list = match control.document("/v1/models").await {
        Ok(list) => list,
        // Servers of one model may lack the list.
        Err(error) if matches!(error.status(), Some(404 | 405)) => {
            let model = match &spec.model {
                Some(model) => Some(model.clone()),
                None => model_beside_the_list(&control).await,
            };
            let model = model.ok_or(ExecuteError::NoModelList { reason: error })?;
            json!({"data": [{"id": model}]})
        }
        Err(error) => return Err(ExecuteError::NotReady(error)),
    };
    let first = list.get("data").and_then(|models| models.get(0));
    let listed = first.and_then(|model| model.get("id")).and_then(Value::as_str);
    let model = spec.model.as_deref().or(listed).map(str::to_owned);
    let model = model.ok_or_else(|| ExecuteError::NoModel { url: url.to_string() })?;
    let owner = first.and_then(|model| model.get("owned_by")).and_then(Value::as_str);
    let (engine, version) = engine(&control, owner.and_then(Engine::of_owner)).await;
    Ok(ExploredServer {
        url,
        engine,
        version,
        model,
        route: ChatRoute::Chat,
        asks_usage: true,
        reports_usage: false,
        shows_metrics: shows_metrics(&control).await,
        first_answer: Duration::ZERO,
    })
}

/// Returns the name of the model of a server that does not list its models under `/v1/models`, from
/// the description that TGI, SGLang and Ollama have had from their first versions on.
async fn model_beside_the_list(control: &ServerControl) -> Option<String> {
    for (route, place) in [
        ("/info", "/model_id"),
        ("/get_model_info", "/model_path"),
        ("/api/tags", "/models/0/name"),
    ] {
        if let Ok(description) = control.document(route).await
            && let Some(model) = description.pointer(place).and_then(Value::as_str)
        {
            return Some(model.to_owned());
        }
    }
    None
}

/// Returns whether a server shows metrics. A web interface may answer any route with a page.
async fn shows_metrics(control: &ServerControl) -> bool {
    let text = control.metrics().await.unwrap_or_default();
    Readings::new(0, Arc::default()).read(&mut text.into(), Stamp::ZERO, 0).is_some()
}

fn control(target: &TargetSpec, context: &RunContext) -> Result<ServerControl, ExecuteError> {
    let target = Target::new(target, context.credentials.clone()).map_err(ExecuteError::Target)?;
    Ok(ServerControl::new(target, MonotonicClock::start()))
}

/// Returns the engine and its version. If the list of models does not name the engine, it is
/// recognised by a route that only this engine has.
async fn engine(control: &ServerControl, known: Option<Engine>) -> (Engine, Option<String>) {
    if let Some(engine) = known {
        return (engine, version(control, engine).await);
    }
    // vLLM's route has the most general name, so it comes last.
    for engine in [Engine::Sglang, Engine::Tgi, Engine::LlamaCpp, Engine::Ollama, Engine::Vllm] {
        if let Some(version) = version(control, engine).await {
            return (engine, Some(version));
        }
    }
    (Engine::Unknown, None)
}

async fn version(control: &ServerControl, engine: Engine) -> Option<String> {
    let (routes, key) = match engine {
        Engine::LlamaCpp => (&["/props"][..], "build_info"),
        Engine::Ollama => (&["/api/version"][..], "version"),
        // Servers of before November 2025 know only the second name.
        Engine::Sglang => (&["/server_info", "/get_server_info"][..], "version"),
        Engine::Tgi => (&["/info"][..], "version"),
        Engine::Simulator | Engine::TensorrtLlm | Engine::Vllm => (&["/version"][..], "version"),
        Engine::Lmdeploy | Engine::Unknown => return None,
    };
    for route in routes {
        if let Ok(description) = control.document(route).await {
            return description.get(key)?.as_str().map(str::to_owned);
        }
    }
    None
}

/// Facts about a server that its first answer contains.
struct FirstAnswer {
    reports_usage: bool,
    lasted: Duration,
}

impl FirstAnswer {
    fn of(self, server: ExploredServer) -> ExploredServer {
        let Self { reports_usage: tells_usage, lasted } = self;
        ExploredServer { reports_usage: tells_usage, first_answer: lasted, ..server }
    }
}

/// The error of a first request.
#[derive(Debug)]
struct Refused {
    status: Option<u16>,
    error: RequestError,
}

impl Refused {
    fn of(self, server: ExploredServer) -> ExecuteError {
        ExecuteError::NoAnswer { model: server.model, reason: self.error }
    }

    /// Returns whether another route would have the same error.
    fn is_final(&self) -> bool {
        let of_route = matches!(self.error.kind, ErrorKind::Status | ErrorKind::Decode);
        !of_route || matches!(self.status, Some(401 | 403 | 429))
    }

    /// Returns whether the server may have refused a key of the request's body.
    fn is_about_body(&self) -> bool {
        matches!(self.status, Some(400 | 422))
    }
}

/// Sends one request, which also warms the server up. A server that refuses the request is asked
/// once more without `stream_options`, which older servers do not know. The inner error is one that
/// another route may not have.
fn first_answer(
    server: &mut ExploredServer,
    spec: &ExploreSpec,
    context: &RunContext,
) -> Result<Result<FirstAnswer, Refused>, ExecuteError> {
    server.asks_usage = true;
    let refused = match answer(server, spec, context)? {
        Err(refused) if refused.is_about_body() => refused,
        answered => return Ok(answered),
    };
    server.asks_usage = false;
    // The first error is about the request as it was intended, with `stream_options`.
    Ok(answer(server, spec, context)?.map_err(|_| refused))
}

fn answer(
    server: &ExploredServer,
    spec: &ExploreSpec,
    context: &RunContext,
) -> Result<Result<FirstAnswer, Refused>, ExecuteError> {
    let lasts = Duration::from_secs(1);
    let load = Load { role: Role::First, streams: 1, lasts, requests: 1 };
    let run = execute(&plan_of(&load, spec, server), context)?;
    let record = run.log.measured().next().ok_or(ExecuteError::Interrupted)?;
    let refused = match &record.outcome {
        Ok(_) if record.is_document => {
            return Err(ExecuteError::NotStreamed { route: server.route.path() });
        }
        Ok(_) => {
            let reports_usage = record.usage.is_some_and(|usage| usage.completion_tokens.is_some());
            let lasted = record.ended.since(record.started());
            return Ok(Ok(FirstAnswer { reports_usage, lasted }));
        }
        Err(error) => Refused { status: record.status, error: error.clone() },
    };
    if refused.is_final() {
        let (route, reason) = (server.route.path(), refused.error);
        return Err(ExecuteError::NoFirstAnswer { route, reason });
    }
    Ok(Err(refused))
}

/// Looks for a server on the ports of this machine that engines use by default: vLLM's 8000,
/// SGLang's 30000, Ollama's 11434, llama.cpp's and TGI's 8080, LMDeploy's 23333. Returns the first
/// one that lists models.
///
/// # Errors
///
/// Returns [`ExecuteError::NoServer`] if there is none.
pub fn find_local_server(context: &RunContext) -> Result<BaseUrl, ExecuteError> {
    on_this_thread(context.unless_stopped(async {
        for port in LOCAL_PORTS {
            let url = BaseUrl::at_host("127.0.0.1", port)?;
            let control = control(&TargetSpec::new(url.clone()), context)?;
            if control.document("/v1/models").await.is_ok() {
                return Ok(url);
            }
        }
        let ports: Vec<String> = LOCAL_PORTS.iter().map(u16::to_string).collect();
        Err(ExecuteError::NoServer { ports: ports.join(", ") })
    }))
}

const LOCAL_PORTS: [u16; 5] = [8000, 30000, 11434, 8080, 23333];
