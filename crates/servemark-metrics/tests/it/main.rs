//! Tests on whole runs: against the results of SGLang 0.5.23 and vLLM 0.33.0, and by Servemark's
//! own definitions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aisbench;
mod anatomy;
mod audit;
mod cache_audit;
mod comparison;
mod contamination;
mod energy;
mod evalscope;
mod golden;
mod limits;
mod peer;
mod plateau;
mod policies;
mod run_verdicts;
mod series;
mod steady_state;
mod vllm;
mod vllm_golden;
