//! Comparison of two runs of a command line.

use std::fmt;

use serde_json::Value;

use crate::{Line, Outcome, SentRequest};

/// A difference between the peer's run and Servemark's.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Part of the run that differs.
    pub part: ComparedPart,
    /// Value in the peer's run.
    pub peer: String,
    /// Value in Servemark's run.
    pub own: String,
}

/// A part of a run that is compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ComparedPart {
    /// Name of the result file.
    File,
    /// Keys of the result.
    Keys,
    /// Labels of the table.
    Labels,
    /// Reason for which the command line was refused.
    Message,
    /// Outcome of the run.
    Outcome,
    /// Requests that were sent.
    Requests,
    /// Value of this key of the result.
    Value(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (peer, own) = apart(&self.peer, &self.own);
        write!(formatter, "{:?}\n    peer: {peer}\n    own:  {own}", self.part)
    }
}

/// Returns two texts from shortly before their first difference on, as far as they fit on a screen.
fn apart(one: &str, other: &str) -> (String, String) {
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let skipped = common.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let start = if skipped > 0 { "[...]" } else { "" };
        let rendered: String = text.chars().skip(skipped).take(MAX_SHOWN_CHARS).collect();
        let end = if text.chars().count() > skipped + MAX_SHOWN_CHARS { "[...]" } else { "" };
        format!("{start}{rendered}{end}")
    };
    (cut(one), cut(other))
}

/// Number of common characters that are shown before a difference.
const BEFORE: usize = 80;
const MAX_SHOWN_CHARS: usize = 500;

/// Returns all differences. If the peer crashed, nothing is compared except that Servemark must not
/// crash; if it did not end, Servemark may go on as well. If both refuse the line, their requests
/// are not compared: a peer may send some before it finds the fault, and Servemark looks for all
/// faults first.
pub(crate) fn differences(peer: &Line, own: &Line) -> Vec<Difference> {
    let mut found = Differences(Vec::new());
    if peer.outcome.is_lost() {
        let both_go_on = peer.outcome == Outcome::Stuck && own.outcome == Outcome::Stuck;
        if own.outcome.is_lost() && !both_go_on {
            found.push(ComparedPart::Outcome, &peer.outcome, &own.outcome);
        }
        return found.0;
    }
    found.compare(ComparedPart::Outcome, &peer.outcome, &own.outcome);
    if peer.outcome == Outcome::Refused && own.outcome == Outcome::Refused {
        if peer.message.is_some() {
            found.compare(ComparedPart::Message, &peer.message, &own.message);
        }
        return found.0;
    }
    found.requests(peer, own);
    if peer.outcome == Outcome::Done && own.outcome == Outcome::Done {
        found.compare(ComparedPart::Labels, &peer.labels, &own.labels);
        found.results(peer, own);
    }
    found.0
}

struct Differences(Vec<Difference>);

impl Differences {
    fn push(&mut self, part: ComparedPart, peer: &impl fmt::Debug, own: &impl fmt::Debug) {
        self.0.push(Difference { part, peer: format!("{peer:?}"), own: format!("{own:?}") });
    }

    fn compare<T: fmt::Debug + PartialEq>(&mut self, part: ComparedPart, peer: &T, own: &T) {
        if peer != own {
            self.push(part, peer, own);
        }
    }

    /// Records the first request that differs.
    fn requests(&mut self, peer: &Line, own: &Line) {
        let (mut ours, mut theirs) =
            (routes_and_texts(&own.requests), routes_and_texts(&peer.requests));
        if !peer.ordered {
            sort_neighbours(&mut ours);
            sort_neighbours(&mut theirs);
        }
        let pairs = theirs.iter().zip(&ours);
        let at = pairs.take_while(|(peer, own)| peer == own).count();
        if at < theirs.len().max(ours.len()) {
            let texts = |all: &[(String, String)]| {
                let request = all.get(at).map_or("nothing", |(_, request)| request);
                format!("request {} of {}: {request}", at + 1, all.len())
            };
            let (peer, own) = (texts(&theirs), texts(&ours));
            self.0.push(Difference { part: ComparedPart::Requests, peer, own });
        }
    }

    fn results(&mut self, peer: &Line, own: &Line) {
        let (Some(theirs), Some(ours)) = (&peer.result, &own.result) else {
            return self.compare(ComparedPart::File, &peer.result, &own.result);
        };
        self.compare(ComparedPart::File, &theirs.file, &ours.file);
        self.compare(ComparedPart::Keys, &theirs.keys, &ours.keys);
        for (key, value) in &theirs.values {
            if let Some(own) = ours.values.get(key).filter(|own| *own != value) {
                let (peer, own) = (Value::to_string(value), own.to_string());
                self.0.push(Difference { part: ComparedPart::Value(key.clone()), peer, own });
            }
        }
    }
}

/// Returns each request as its route and its full text.
fn routes_and_texts(requests: &[SentRequest]) -> Vec<(String, String)> {
    let route = |request: &SentRequest| format!("{} {}", request.method, request.path);
    let whole = |request: &SentRequest| {
        format!("{} {:?} {}", route(request), request.headers, request.body)
    };
    requests.iter().map(|request| (route(request), whole(request))).collect()
}

/// Sorts adjacent requests to one route, so that their order of arrival does not matter.
fn sort_neighbours(requests: &mut [(String, String)]) {
    for same in requests.chunk_by_mut(|(one, _), (other, _)| one == other) {
        same.sort();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(paths: &[(&str, i32)]) -> Line {
        let request = |&(path, id): &(&str, i32)| SentRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: [].into(),
            body: json!({ "id": id, "n": 1 }),
        };
        Line {
            n: 0,
            command: String::new(),
            argv: Vec::new(),
            env: [].into(),
            inputs: [].into(),
            ordered: true,
            outcome: Outcome::Done,
            exit: Some(0),
            requests: paths.iter().map(request).collect(),
            result: None,
            labels: Vec::new(),
            message: None,
        }
    }

    #[test]
    fn requests_of_one_route_may_change_places_where_their_order_is_open() {
        let mut peer = line(&[("/a", 1), ("/a", 2), ("/flush", 0), ("/a", 3), ("/a", 4)]);
        let own = line(&[("/a", 2), ("/a", 1), ("/flush", 0), ("/a", 4), ("/a", 3)]);
        assert_eq!(differences(&peer, &own).len(), 1);
        peer.ordered = false;
        assert_eq!(differences(&peer, &own), []);
        let across = line(&[("/a", 3), ("/a", 1), ("/flush", 0), ("/a", 4), ("/a", 2)]);
        assert_eq!(differences(&peer, &across).len(), 1);
        let fewer = line(&[("/a", 1), ("/a", 2), ("/flush", 0), ("/a", 3)]);
        assert_eq!(differences(&peer, &fewer)[0].own, "request 5 of 4: nothing");
    }

    #[test]
    fn long_texts_are_shown_from_their_difference_on() {
        let (one, other) = ("a".repeat(500) + "b", "a".repeat(500) + "c" + &"d".repeat(500));
        let (one, other) = apart(&one, &other);
        assert_eq!(one, format!("[...]{}b", "a".repeat(80)));
        assert_eq!(other, format!("[...]{}c{}[...]", "a".repeat(80), "d".repeat(419)));
        assert_eq!(apart("x", "y"), ("x".to_owned(), "y".to_owned()));
    }

    #[test]
    fn the_order_of_a_bodys_keys_counts() {
        let peer = line(&[("/a", 1)]);
        let mut own = peer.clone();
        own.requests[0].body = json!({"n": 1, "id": 1});
        assert_eq!(differences(&peer, &own)[0].part, ComparedPart::Requests);
    }

    #[test]
    fn where_the_peer_crashed_nothing_is_asked_of_us_but_not_to_crash() {
        let mut peer = line(&[("/a", 1)]);
        peer.outcome = Outcome::Crashed;
        let mut own = line(&[]);
        own.outcome = Outcome::Refused;
        assert_eq!(differences(&peer, &own), []);
        own.outcome = Outcome::Crashed;
        assert_eq!(differences(&peer, &own)[0].part, ComparedPart::Outcome);
        (peer.outcome, own.outcome) = (Outcome::Stuck, Outcome::Stuck);
        assert_eq!(differences(&peer, &own), []);
    }
}
