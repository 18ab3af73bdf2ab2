//! The subset of HTTP/1.1 that a server of known requests needs.
//!
//! It is written by hand so that a piece of output costs little more than its system call: clients
//! measure their own cost against this server.

mod request;
mod response;

pub(crate) use request::{Parsed, Refusal, Request, RequestParser};
pub(crate) use response::{
    End, Framing, KeepAlive, document, json_document, push_chunk, push_head,
};
