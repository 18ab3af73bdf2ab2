//! Sans-IO parsers of streamed bodies: bytes in, server-sent events or lines out.
//!
//! [`Parser`] follows the event-stream grammar of the WHATWG HTML standard on raw bytes. An event
//! that lies in one read and has one `data:` line is passed on as a borrow of that read; only the
//! pieces of an event that was split over reads, or has several data lines, are copied.
//!
//! [`LineParser`] splits bodies whose lines stand alone, such as newline-delimited JSON.
//!
//! The crate deliberately knows no HTTP, no JSON, no UTF-8, no clock and no `[DONE]`: the caller
//! decides what the data means and when it arrived.
//!
//! ```
//! let mut parser = servemark_sse::Parser::new();
//! let mut seen = Vec::new();
//! for read in [&b": keep-alive\n\nda"[..], b"ta: {\"token\":", b" 1}\r\n\r\n"] {
//!     parser.feed(read, |event| {
//!         seen.push(event.data().to_vec());
//!         Ok::<(), std::convert::Infallible>(())
//!     })?;
//! }
//! assert_eq!(seen, [b"{\"token\": 1}"]);
//! assert!(parser.finish().is_none());
//! # Ok::<(), servemark_sse::FeedError<std::convert::Infallible>>(())
//! ```

mod block;
mod error;
mod event;
mod lines;
mod parser;
#[cfg(test)]
mod tests;

pub use crate::error::FeedError;
pub use crate::event::{Event, Unfinished};
pub use crate::lines::LineParser;
pub use crate::parser::Parser;
