//! The program as its user meets it.

mod audit;
mod bad_input;
mod hub;
mod objectives;
mod outputs;
mod pictures;
mod program;
mod runs;
mod stopping;
