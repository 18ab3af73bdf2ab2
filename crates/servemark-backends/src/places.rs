//! Placeholders of pictures and videos in a conversation.

use serde_json::{Value, json};
use servemark_core::{JsonObject, Medium, RequestError};

/// Returns a conversation with its placeholders for pictures and videos filled in.
pub(crate) fn filled(messages: &[JsonObject], media: &[Medium]) -> Result<Value, RequestError> {
    let mut messages = json!(messages);
    let mut media = media.iter();
    let contents = messages.as_array_mut().into_iter().flatten();
    let parts = contents.filter_map(|message| message.get_mut("content")?.as_array_mut());
    for place in parts.flatten().filter_map(place) {
        if let Some(medium) = media.next() {
            place.shift_insert(0, "url".to_owned(), medium.uri()?.into());
        }
    }
    Ok(messages)
}

/// Returns the object of a part's picture or video, unless it already has a URL.
fn place(part: &mut Value) -> Option<&mut JsonObject> {
    let key = match part.get("type")?.as_str()? {
        "image_url" => "image_url",
        "video_url" => "video_url",
        _ => return None,
    };
    part.get_mut(key)?.as_object_mut().filter(|place| !place.contains_key("url"))
}
