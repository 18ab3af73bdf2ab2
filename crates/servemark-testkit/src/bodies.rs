//! Restores samples from recorded request bodies.

use serde_json::Value;
use servemark_core::{JsonObject, Medium, Prompt, Sample};

/// Returns the sample from which one of SGLang's clients made `body`, for any route: the prompt,
/// the length asked for, the adapter and the pictures.
///
/// # Panics
///
/// Panics if the body has no prompt.
pub fn sample(body: &Value) -> Sample {
    let limits = ["/max_completion_tokens", "/max_tokens", "/sampling_params/max_new_tokens"];
    let limit = limits.iter().find_map(|pointer| body.pointer(pointer)?.as_u64());
    let output_tokens = limit.map_or(1, |limit| u32::try_from(limit).expect("a length"));
    let mut sample = Sample::new(prompt(body), 1, output_tokens);
    sample.adapter = body.get("lora_path").and_then(Value::as_str).map(str::to_owned);
    sample.media = images(body);
    sample
}

fn prompt(body: &Value) -> Prompt {
    let messages = &body["messages"];
    if messages[0]["content"][0]["type"] == "image_url" {
        let parts = messages[0]["content"].as_array().expect("parts");
        return parts.last().and_then(|part| part["text"].as_str()).expect("a text").into();
    }
    if !messages.is_null() {
        let messages: Vec<JsonObject> = serde_json::from_value(messages.clone()).expect("messages");
        return messages.into();
    }
    let keys = ["text", "prompt", "input_ids", "input", "text_input"];
    let prompt = keys.iter().find_map(|key| body.get(*key)).expect("a prompt");
    serde_json::from_value(prompt.clone()).expect("a prompt")
}

/// Returns the pictures of a body, whose position depends on the route.
fn images(body: &Value) -> Vec<Medium> {
    let listed = body["image_data"].as_array().into_iter().flatten();
    let parts = body["messages"][0]["content"].as_array().into_iter().flatten();
    let rendered = parts.map(|part| &part["image_url"]["url"]);
    let uris = listed.chain(rendered).filter_map(Value::as_str);
    uris.map(|uri| Medium::image(uri.to_owned())).collect()
}
