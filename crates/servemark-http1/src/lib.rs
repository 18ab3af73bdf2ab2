//! Parses HTTP/1 answers from bytes: a [`Head`], and then a [`Body`] without its framing.
//!
//! The input is bytes as they were read, split anywhere; the output is views of them: a piece of a
//! body is never copied, and nothing is allocated for it. The crate knows no socket, no clock and
//! no request; the caller reads, waits and stamps.
//!
//! The rules are those of RFC 9112 and, where servers break them, those of hyper.
//!
//! ```
//! use servemark_http1::{Body, Head, Piece};
//!
//! let read = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
//! let (head, length) = Head::parse(read)?.expect("it is whole");
//! let mut rest = &read[length..];
//! let mut body = Body::new(head.summary.framing()?);
//! assert_eq!(body.next(&mut rest)?, Piece::Data(b"hello"));
//! assert_eq!(body.next(&mut rest)?, Piece::End);
//! # Ok::<(), servemark_http1::Malformed>(())
//! ```

mod body;
mod chunks;
mod error;
mod head;
mod piece;
mod summary;

pub use body::Body;
pub use error::Malformed;
pub use head::Head;
pub use piece::Piece;
pub use summary::{Framing, HeadSummary};
