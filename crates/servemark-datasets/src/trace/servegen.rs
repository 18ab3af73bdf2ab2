//! `ServeGen`'s clients: request rate and burstiness per time window, and length distributions.
//! Arrivals and lengths are drawn from these.

mod client;
mod lengths;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_core::{DatasetError, DrawContext, Session};
use servemark_rng::NumpyRandom;

use self::client::{Client, Window};
use self::lengths::Lengths;
use super::Trace;
use crate::text_generator::{Extract, TextGenerator};

/// Draws the first `count` requests of all clients in a folder.
pub(super) fn read(
    path: &Path,
    count: usize,
    context: &mut DrawContext<'_>,
) -> Result<Trace, DatasetError> {
    let clients = clients(path)?;
    let generator = TextGenerator::open(context)?;
    let requests = draw(&clients, count, &mut context.random.numpy);
    let start = requests.first().map(|request| request.at).unwrap_or_default();
    let session = |(row, request): (u64, &Request)| {
        let extract = Extract::of_row(row, request.input_tokens);
        let sample = generator.sample(vec![extract], request.output_tokens);
        Session::from(sample).beginning(offset(request.at - start))
    };
    let sessions = (0..).zip(&requests).map(session).collect();
    let others = clients.iter().filter(|client| client.lengths.has_media()).count() as u64;
    Ok(Trace::new(sessions)
        .with_notice("Clients whose images, audio and videos are not sent", others))
}

/// Reads the clients of a folder, in the order of their file names.
fn clients(folder: &Path) -> Result<Vec<Client>, DatasetError> {
    let failed = |source| DatasetError::Read { path: folder.to_owned(), source };
    let files = fs::read_dir(folder).map_err(failed)?;
    let files = files.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>().map_err(failed)?;
    files.retain(|file| file.to_string_lossy().ends_with(client::TRACE));
    files.sort();
    files.iter().map(|file| Client::read(file)).collect()
}

/// A drawn request; its time is in seconds from the beginning of the trace.
struct Request {
    at: f64,
    input_tokens: u32,
    output_tokens: u32,
}

/// Draws window by window until there are enough requests. Windows with the same start are drawn
/// together.
fn draw(clients: &[Client], count: usize, numpy: &mut NumpyRandom) -> Vec<Request> {
    let each = |client| Client::windows(client).map(move |window| (window, &client.lengths));
    let mut windows: Vec<(&Window, &Lengths)> = clients.iter().flat_map(each).collect();
    windows.sort_by(|(one, _), (other, _)| one.start.total_cmp(&other.start));
    let mut requests: Vec<Request> = Vec::new();
    for together in
        windows.chunk_by(|(one, _), (other, _)| one.start.total_cmp(&other.start).is_eq())
    {
        if requests.len() >= count {
            break;
        }
        for (window, lengths) in together {
            requests.extend(in_window(window, lengths, numpy));
        }
    }
    requests.sort_by(|one, other| one.at.total_cmp(&other.at));
    requests.truncate(count);
    requests
}

/// Draws a client's requests in a window; none if no lengths are recorded for it.
fn in_window(window: &Window, lengths: &Lengths, numpy: &mut NumpyRandom) -> Vec<Request> {
    let Some(lengths) = lengths.at(window.start) else { return Vec::new() };
    let arrivals = window.draw(numpy);
    let inputs = lengths.input.draw(arrivals.len(), numpy);
    let outputs = lengths.output.draw(arrivals.len(), numpy);
    let request = |((at, input_tokens), output_tokens)| Request { at, input_tokens, output_tokens };
    arrivals.into_iter().zip(inputs).zip(outputs).map(request).collect()
}

fn offset(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
