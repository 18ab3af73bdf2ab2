//! What is known of the servers of the engines that are imitated.

use servemark_target::ImitatedEngine;

/// Returns the owner of a model in the list of models.
pub(crate) fn owner(engine: ImitatedEngine, model: &str) -> &str {
    match engine {
        ImitatedEngine::LlamaCpp => "llamacpp",
        ImitatedEngine::Ollama => "library",
        ImitatedEngine::TensorrtLlm => "tensorrt_llm",
        ImitatedEngine::Tgi => model,
        _ => engine.name(),
    }
}

/// Returns whether the engine's server has a route that describes it.
pub(crate) fn has(engine: ImitatedEngine, route: &str) -> bool {
    match route {
        "/api/tags" | "/api/version" => engine == ImitatedEngine::Ollama,
        "/info" => engine == ImitatedEngine::Tgi,
        "/metrics" => !matches!(engine, ImitatedEngine::Ollama | ImitatedEngine::TensorrtLlm),
        "/props" => engine == ImitatedEngine::LlamaCpp,
        "/get_model_info" | "/get_server_info" | "/model_info" | "/server_info" => {
            engine == ImitatedEngine::Sglang
        }
        "/version" => matches!(engine, ImitatedEngine::TensorrtLlm | ImitatedEngine::Vllm),
        _ => true,
    }
}
