//! Images and videos that a row refers to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::Medium;

use crate::image::Redrawn;
use crate::table::Cell;

/// Component that reads the images that a file refers to. Exhaustive: the server or this program.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureReader {
    /// The server, which must have access to the same files.
    #[default]
    Server,
    /// This program, which sends them as PNG.
    Client,
}

/// Returns a URL under which the server can read an image.
pub(super) fn picture_link(place: &str) -> String {
    let is_link = ["http://", "https://", "file://", "data:image/"];
    link(place, &is_link)
}

/// Returns a URL under which the server can read a video.
pub(super) fn video_link(place: &str) -> String {
    link(place, &["http://", "https://", "file://"])
}

/// Returns a URL; a text without one of the given schemes is a file path.
fn link(place: &str, links: &[&str]) -> String {
    let is_link = links.iter().any(|link| place.starts_with(link));
    if is_link { place.to_owned() } else { format!("file://{place}") }
}

impl PictureReader {
    /// Creates an image from a row's path or URL.
    pub(super) fn picture(self, place: &str) -> Result<Medium, String> {
        let link = picture_link(place);
        match (self, link.strip_prefix("file://")) {
            (Self::Client, Some(path)) => Ok(Medium::image(Redrawn::png_of(PathBuf::from(path)))),
            (Self::Client, None) if !link.starts_with("data:image/") => Err(format!(
                "{link} is not on this machine: download it and name its file, or let the server fetch it (`workload.dataset.pictures`)"
            )),
            _ => Ok(Medium::image(link)),
        }
    }
}

/// Creates an image from a cell that holds its bytes, path or URL.
pub(super) fn picture(cell: &Cell) -> Result<Medium, String> {
    if let Some(bytes) = cell.get("bytes").and_then(Cell::bytes) {
        let picture = Redrawn::jpeg(bytes.to_vec());
        return picture.map(Medium::image).map_err(|why| format!("an image cannot be read: {why}"));
    }
    let place = cell.text().or_else(|| cell.get("path")?.text());
    let place = place.ok_or("an image is neither bytes nor a path or URL")?;
    Ok(Medium::image(picture_link(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_link_is_a_path() {
        assert_eq!(picture_link("a/b.png"), "file://a/b.png");
        assert_eq!(picture_link("data:image/png;base64,QQ=="), "data:image/png;base64,QQ==");
        assert_eq!(video_link("data:image/png;base64,QQ=="), "file://data:image/png;base64,QQ==");
        assert_eq!(video_link("https://a/b.mp4"), "https://a/b.mp4");
    }

    #[test]
    fn a_picture_on_the_web_is_the_servers_to_fetch() {
        let refusal = PictureReader::Client.picture("http://a/b.png").unwrap_err();
        assert!(refusal.starts_with("http://a/b.png is not on this machine: "), "{refusal}");
        let link = PictureReader::Server.picture("http://a/b.png").unwrap().uri().unwrap();
        assert_eq!(link, "http://a/b.png");
    }
}
