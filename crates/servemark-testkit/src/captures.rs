//! Recorded responses of real servers.
