//! The fields of the event being read: the meaning of a line, and where its value is kept.
//!
//! A [`Block`] lives for one read and borrows values from it; [`PendingFields`] lives as long as
//! the parser and holds copies of values that must outlive the read. Neither knows how bytes become
//! lines.

use memchr::memchr;

use crate::error::{TooLong, check_length};
use crate::event::Event;

/// Field values that outlived their read.
#[derive(Debug, Default)]
pub(crate) struct PendingFields {
    /// The data lines so far, each followed by a line feed; empty means that there is no data line.
    pub(crate) data: Vec<u8>,
    event: Vec<u8>,
    event_retry: Option<u64>,
    pub(crate) last_id: Vec<u8>,
    pub(crate) retry: Option<u64>,
    pub(crate) comments: u64,
}

/// The event being read, within one read.
#[derive(Debug)]
pub(crate) struct Block<'k, 'a> {
    kept: &'k mut PendingFields,
    /// The only data line so far, which is not copied yet.
    data: Option<&'a [u8]>,
    /// An event type that replaces the kept one.
    event: Option<&'a [u8]>,
    limit: usize,
}

impl<'k, 'a> Block<'k, 'a> {
    pub(crate) fn new(kept: &'k mut PendingFields, limit: usize) -> Self {
        Self { kept, data: None, event: None, limit }
    }

    /// Applies one line that is not blank.
    pub(crate) fn line(&mut self, line: &'a [u8]) -> Result<(), TooLong> {
        check_length(line.len(), self.limit)?;
        let (name, value) = split_field(line);
        match name {
            b"data" => return self.data_line(value),
            b"event" => self.event = Some(value),
            b"id" => self.id_line(value),
            b"retry" => self.retry_line(value),
            b"" => self.kept.comments += 1,
            _ => {} // The grammar ignores fields it does not name.
        }
        Ok(())
    }

    /// Returns the event that a blank line dispatches here, if there is a data line.
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        self.kept.event(self.data, self.event)
    }

    /// Forgets the event; the last event id stays.
    pub(crate) fn clear(&mut self) {
        self.data = None;
        self.event = None;
        self.kept.data.clear();
        self.kept.event.clear();
        self.kept.event_retry = None;
    }

    /// Copies the values that are still borrowed from the read, which ends here.
    pub(crate) fn keep(mut self) {
        self.keep_data();
        if let Some(event) = self.event {
            self.kept.event.clear();
            self.kept.event.extend_from_slice(event);
        }
    }

    /// Ends the block and returns the unfinished event, borrowed from the parser.
    pub(crate) fn into_event(self) -> Option<Event<'k>>
    where
        'a: 'k,
    {
        let kept: &'k PendingFields = self.kept;
        kept.event(self.data, self.event)
    }

    fn data_line(&mut self, value: &'a [u8]) -> Result<(), TooLong> {
        if self.data.is_none() && self.kept.data.is_empty() {
            self.data = Some(value);
            return Ok(());
        }
        self.keep_data();
        check_length(self.kept.data.len().saturating_add(value.len()), self.limit)?;
        self.kept.push_data(value);
        Ok(())
    }

    fn keep_data(&mut self) {
        if let Some(value) = self.data.take() {
            self.kept.push_data(value);
        }
    }

    fn id_line(&mut self, value: &[u8]) {
        if memchr(0, value).is_none() {
            self.kept.last_id.clear();
            self.kept.last_id.extend_from_slice(value);
        }
    }

    fn retry_line(&mut self, value: &[u8]) {
        if let Some(retry) = parse_digits(value) {
            self.kept.event_retry = Some(retry);
            self.kept.retry = Some(retry);
        }
    }
}

impl PendingFields {
    /// Returns the number of bytes of field values that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len() + self.event.len() + self.last_id.len()
    }

    /// Builds the event from the kept fields and from the block's values that are not copied.
    fn event<'e>(&'e self, data: Option<&'e [u8]>, event: Option<&'e [u8]>) -> Option<Event<'e>> {
        Some(Event {
            data: data.or_else(|| Some(self.data.split_last()?.1))?,
            name: event.unwrap_or(&self.event),
            id: &self.last_id,
            retry: self.event_retry,
        })
    }

    fn push_data(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
    }
}

/// Splits a line at its first colon and drops one space after it; a comment has an empty name.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr(b':', line) else { return (line, b"") };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

/// Parses a decimal number of ASCII digits only; saturates.
fn parse_digits(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| value.iter().fold(0, |number, digit| push_digit(number, *digit)))
}

fn push_digit(number: u64, digit: u8) -> u64 {
    number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
}
