//! Tests of the parser: the grammar rule by rule, the standard's examples, properties.

mod errors;
mod lines;
mod naive;
mod properties;
mod reads;
mod rules;
mod whatwg;

use std::convert::Infallible;

use crate::{Event, FeedError, Parser};

/// An event that owns its bytes, so that it can be kept and compared.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Owned {
    data: Vec<u8>,
    event: Vec<u8>,
    id: Vec<u8>,
    retry: Option<u64>,
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        Self {
            data: event.data().to_vec(),
            event: event.event().to_vec(),
            id: event.id().to_vec(),
            retry: event.retry(),
        }
    }
}

/// The result of a whole stream: its events, then the rest that `finish` returns.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Outcome {
    events: Vec<Owned>,
    unfinished: Option<(Option<Owned>, Vec<u8>)>,
}

fn parse<'r>(reads: impl IntoIterator<Item = &'r [u8]>) -> Outcome {
    let mut parser = Parser::new();
    let events = feed_all(&mut parser, reads).expect("neither the handler nor the limit fails");
    let unfinished =
        parser.finish().map(|left| (left.event().map(Owned::from), left.open_line().to_vec()));
    Outcome { events, unfinished }
}

fn feed_all<'r>(
    parser: &mut Parser,
    reads: impl IntoIterator<Item = &'r [u8]>,
) -> Result<Vec<Owned>, FeedError<Infallible>> {
    let mut events = Vec::new();
    for read in reads {
        parser.feed(read, |event| {
            events.push(Owned::from(event));
            Ok(())
        })?;
    }
    Ok(events)
}
