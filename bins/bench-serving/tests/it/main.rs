//! Runs the program as a user does.

mod audit;
mod bad_input;
mod contamination;
mod gpus;
mod hub;
mod metrics_urls;
mod objectives;
mod outputs;
mod pictures;
mod program;
mod runs;
mod stopping;
