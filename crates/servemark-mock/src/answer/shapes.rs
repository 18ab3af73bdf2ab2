//! The JSON objects that servers send.

use serde_json::{Value, json};

use super::ask::AskFault;
use crate::ErrorShape;

/// The fields that all of OpenAI's objects of one answer share.
#[derive(Debug)]
pub(super) struct OpenAi<'a> {
    pub(super) id: String,
    pub(super) model: &'a str,
    pub(super) created: u64,
}

impl OpenAi<'_> {
    pub(super) fn object(&self, kind: &str, choices: &[Value], usage: Option<Value>) -> Value {
        let mut object = json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            object["usage"] = usage;
        }
        object
    }
}

/// Returns token counts in the shape of OpenAI's routes.
pub(super) fn count(prompt: Value, completion: Value, total: Value) -> Value {
    let counts =
        [("prompt_tokens", prompt), ("completion_tokens", completion), ("total_tokens", total)];
    counts.into_iter().collect()
}

/// Adds the count of prompt tokens from a prefix cache to counts in the shape of OpenAI's routes.
pub(super) fn with_cached(mut counts: Value, cached: &Value) -> Value {
    counts["prompt_tokens_details"] = json!({"cached_tokens": cached});
    counts
}

/// Returns the `response` object of `/v1/responses`.
pub(super) fn response(
    number: &str,
    model: &str,
    created: u64,
    status: &str,
    output: &[Value],
) -> Value {
    json!({
        "id": format!("resp_{number}"),
        "object": "response",
        "created_at": created,
        "model": model,
        "status": status,
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
    })
}

/// Returns the single message in an answer of `/v1/responses`.
pub(super) fn response_message(number: &str, status: &str, content: &[Value]) -> Value {
    json!({
        "id": response_item(number),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    })
}

/// Returns the id of the message in an answer of `/v1/responses`.
pub(super) fn response_item(number: &str) -> String {
    format!("msg_{number}")
}

/// Returns the text part of the message in an answer of `/v1/responses`.
pub(super) fn response_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// Returns token counts in the shape of `/v1/responses`, with zero cached and reasoning tokens.
pub(super) fn response_counts(input: Value, output: Value, total: Value) -> Value {
    let mut counts = response_usage(input, output, total);
    counts["input_tokens_details"] = json!({"cached_tokens": 0});
    counts["output_tokens_details"] = json!({"reasoning_tokens": 0});
    counts
}

/// Returns token counts in the shape of decisions, `DashScope` and, without details,
/// `/v1/responses`.
pub(super) fn response_usage(input: Value, output: Value, total: Value) -> Value {
    let counts = [("input_tokens", input), ("output_tokens", output), ("total_tokens", total)];
    counts.into_iter().collect()
}

/// Returns the message of Anthropic's API. It is not finished.
pub(super) fn anthropic_message(
    number: &str,
    model: &str,
    content: &[Value],
    counts: &Value,
) -> Value {
    json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
        "usage": counts,
    })
}

/// Returns the text block of Anthropic's API.
pub(super) fn anthropic_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns the counts of Anthropic's API.
pub(super) fn anthropic_counts(input: &Value, output: &Value) -> Value {
    json!({"input_tokens": input, "output_tokens": output})
}

/// The reason for which every message of Anthropic's API ends.
pub(super) const MAX_TOKENS: &str = "max_tokens";

/// The finish reason of every answer.
pub(super) const LENGTH: &str = "length";

/// Returns an event or document of `DashScope`. The finish reason of an unfinished answer is the
/// string `null`.
pub(super) fn dashscope(
    number: &str,
    as_messages: bool,
    text: &str,
    reason: &str,
    counts: &Value,
) -> Value {
    let output = if as_messages {
        let message = json!({"role": "assistant", "content": text});
        json!({"choices": [{"finish_reason": reason, "message": message}]})
    } else {
        json!({"finish_reason": reason, "text": text})
    };
    json!({"output": output, "usage": counts, "request_id": format!("request-{number}")})
}

/// Returns a line of Ollama's stream that holds a piece of the answer.
pub(super) fn ollama(model: &str, as_messages: bool, text: &str) -> Value {
    let mut line = json!({"model": model, "created_at": OLLAMA_TIME});
    if as_messages {
        line["message"] = json!({"role": "assistant", "content": text});
    } else {
        line["response"] = json!(text);
    }
    line["done"] = json!(false);
    line
}

/// Returns the last line of Ollama's stream, or a whole answer as one document.
pub(super) fn ollama_end(
    model: &str,
    as_messages: bool,
    text: &str,
    prompt_tokens: &Value,
    tokens: &Value,
) -> Value {
    let mut line = ollama(model, as_messages, text);
    line["done"] = json!(true);
    line["done_reason"] = json!(LENGTH);
    line["prompt_eval_count"] = prompt_tokens.clone();
    line["eval_count"] = tokens.clone();
    line
}

/// The creation time in every line of Ollama's and of its models: answers read no wall clock, and
/// the times of pieces are in the truth log.
pub(crate) const OLLAMA_TIME: &str = "1970-01-01T00:00:00Z";

/// Returns an answer of text-generation-inference as one document.
pub(super) fn tgi_document(text: &str, tokens: u32) -> Value {
    json!({"generated_text": text, "details": tgi_details(json!(tokens))})
}

/// Returns the `details` of a finished answer of text-generation-inference.
pub(super) fn tgi_details(tokens: Value) -> Value {
    let reason =
        [("finish_reason", json!(LENGTH)), ("generated_tokens", tokens), ("seed", Value::Null)];
    reason.into_iter().collect()
}

/// Returns a piece of an answer of Triton's, or all of it.
pub(super) fn triton_event(text: &str) -> Value {
    json!({
        "model_name": "ensemble",
        "model_version": "1",
        "sequence_end": false,
        "sequence_id": 0,
        "sequence_start": false,
        "text_output": text,
    })
}

/// Returns the error object that servers send, in the given shape.
pub(super) fn error_json(shape: ErrorShape, code: u16, message: &str) -> Value {
    let flat = json!({
        "object": "error",
        "message": message,
        "type": if code < 500 { "BadRequestError" } else { "InternalServerError" },
        "param": null,
        "code": code,
    });
    match shape {
        ErrorShape::Flat => flat,
        ErrorShape::Object => json!({"error": flat}),
        ErrorShape::String => json!({"error": message}),
    }
}

/// Returns the status and error object of OpenAI's API for a request that cannot be answered.
pub(crate) fn refusal(fault: &AskFault) -> (u16, String) {
    let (status, message, parameter, code) = match fault {
        AskFault::Missing(name) => {
            let message = format!("Missing required parameter: '{name}'.");
            (400, message, *name, "missing_required_parameter")
        }
        AskFault::OutOfRange { name, least, most } => {
            let message = format!("'{name}' must be between {least} and {most}.");
            (400, message, *name, "invalid_value")
        }
        AskFault::UnknownModel(model) => {
            let message = format!("The model `{model}` does not exist.");
            (404, message, "model", "model_not_found")
        }
    };
    let error = json!({
        "message": message,
        "type": "invalid_request_error",
        "param": parameter,
        "code": code,
    });
    (status, json!({"error": error}).to_string())
}

/// Returns the body of a response whose status is not 200.
pub(crate) fn error_document(code: u16, message: &str) -> String {
    error_json(ErrorShape::Object, code, message).to_string()
}
