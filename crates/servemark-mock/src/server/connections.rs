//! The connections of one thread, by the slot number that events and the queue use for them.

use super::connection::Connection;

/// The connections of one thread. The slot of a closed connection is reused.
#[derive(Debug, Default)]
pub(super) struct Connections {
    slots: Vec<Option<Connection>>,
    free: Vec<usize>,
}

impl Connections {
    /// Returns the slot of the next connection to be inserted.
    pub(super) fn next(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slots.len())
    }

    pub(super) fn insert(&mut self, connection: Connection) {
        match self.free.pop() {
            Some(slot) => self.slots[slot] = Some(connection),
            None => self.slots.push(Some(connection)),
        }
    }

    pub(super) fn get(&mut self, slot: usize) -> Option<&mut Connection> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Closes a connection and frees its slot.
    pub(super) fn remove(&mut self, slot: usize) {
        if self.slots.get_mut(slot).and_then(Option::take).is_some() {
            self.free.push(slot);
        }
    }
}
