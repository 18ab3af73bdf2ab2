//! Whole pages: their bytes, and what they do in a browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod comparison_page;
mod run_page;
mod sweep_page;
mod synthetic;
