//! Texts that were received, and the memory that they share.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A text that a server sent. When it is dropped, its pool has its memory back.
#[derive(Debug, Default)]
pub struct Text {
    pub(crate) memory: Memory,
    /// Positions of the text within the memory.
    pub(crate) text: Range<usize>,
}

/// Memory for texts, which readers share. Clones are the same pool.
///
/// The memory that was given back last is taken first, because a processor's caches still hold it.
#[derive(Clone, Default)]
pub struct TextPool {
    free: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// Memory from a pool, or without one.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    pool: Option<TextPool>,
}

impl Text {
    /// Returns the text. It is as the server sent it, which need not be UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.memory.bytes[self.text.clone()]
    }

    /// Returns the text, which can be changed in place.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        &mut self.memory.bytes[self.text.clone()]
    }
}

impl<T: Into<Vec<u8>>> From<T> for Text {
    fn from(text: T) -> Self {
        let bytes = text.into();
        Self { text: 0..bytes.len(), memory: Memory { bytes, pool: None } }
    }
}

impl TextPool {
    /// Creates an empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn take(&self) -> Memory {
        let bytes = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Memory { bytes: bytes.unwrap_or_default(), pool: Some(self.clone()) }
    }
}

impl fmt::Debug for TextPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPool").finish_non_exhaustive()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool
            && self.bytes.len() <= MOST_KEPT
        {
            let bytes = mem::take(&mut self.bytes);
            pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        }
    }
}

/// Size in bytes above which memory is not used again.
const MOST_KEPT: usize = 4 << 20;
