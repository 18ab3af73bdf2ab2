//! The objects that servers put on the wire, as values.

use serde_json::{Value, json};

use super::ask::AskFault;
use crate::ErrorShape;

/// What all of OpenAI's objects of one answer share.
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

/// The counts as OpenAI's routes tell them.
pub(super) fn count(prompt: Value, completion: Value, total: Value) -> Value {
    let counts =
        [("prompt_tokens", prompt), ("completion_tokens", completion), ("total_tokens", total)];
    counts.into_iter().collect()
}

/// What `/v1/responses` says of an answer as a whole.
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

/// The one message of an answer of `/v1/responses`.
pub(super) fn response_message(number: &str, status: &str, content: &[Value]) -> Value {
    json!({
        "id": response_item(number),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    })
}

/// The name of that message.
pub(super) fn response_item(number: &str) -> String {
    format!("msg_{number}")
}

/// The text of that message.
pub(super) fn response_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// The counts as `/v1/responses` tells them, with those that this server has none of.
pub(super) fn response_counts(input: Value, output: Value, total: Value) -> Value {
    let mut counts = response_usage(input, output, total);
    counts["input_tokens_details"] = json!({"cached_tokens": 0});
    counts["output_tokens_details"] = json!({"reasoning_tokens": 0});
    counts
}

/// The counts as decisions, `DashScope` and, without their details, `/v1/responses` tell them.
pub(super) fn response_usage(input: Value, output: Value, total: Value) -> Value {
    let counts = [("input_tokens", input), ("output_tokens", output), ("total_tokens", total)];
    counts.into_iter().collect()
}

/// The reason why an answer is over.
pub(super) const LENGTH: &str = "length";

/// What `DashScope` says of an answer so far. Of one that goes on, `null` is its reason to end.
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

/// A piece of an answer of Ollama's.
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

/// The last line of an answer of Ollama's, or all of it as one document.
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

/// When every line of Ollama's is said to have been made: the simulator has no wall clock, and its
/// truth is told elsewhere.
const OLLAMA_TIME: &str = "1970-01-01T00:00:00Z";

/// An answer of text-generation-inference as one document.
pub(super) fn tgi_document(text: &str, tokens: u32) -> Value {
    json!({"generated_text": text, "details": tgi_details(json!(tokens))})
}

/// What text-generation-inference tells of an answer that is over.
pub(super) fn tgi_details(tokens: Value) -> Value {
    let reason =
        [("finish_reason", json!(LENGTH)), ("generated_tokens", tokens), ("seed", Value::Null)];
    reason.into_iter().collect()
}

/// A piece of an answer of Triton's, or all of it.
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

/// The error object that servers send, in the shape asked for.
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

/// The error object of OpenAI's API for a request that cannot be answered, and its status.
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

/// The body of a status that is not 200.
pub(crate) fn error_document(code: u16, message: &str) -> String {
    error_json(ErrorShape::Object, code, message).to_string()
}
