//! Flags of the search for the largest load that meets its criteria.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::argparse::Limit::{Needs, Only};
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Search")]
#[expect(clippy::struct_field_names, reason = "fields are named as the flags are")]
pub(in crate::evalscope) struct SlaArgs {
    /// Search for the largest load that meets --sla-params, or that is best by them
    #[arg(long)]
    pub(in crate::evalscope) sla_auto_tune: bool,
    /// The load that is searched for: requests in flight, or requests a second
    #[arg(long, value_name = "WHAT", default_value = "parallel",
          value_parser = PossibleValuesParser::new(["parallel", "rate"]))]
    pub(in crate::evalscope) sla_variable: String,
    /// The criteria, such as [{"p99_ttft": "<=2s", "avg_tpot": "<=50ms"}]: those of one object hold
    /// together, each object has a search of its own; or [{"tps": "max"}]
    #[arg(long, value_name = "JSON", value_parser = python::json)]
    pub(in crate::evalscope) sla_params: Option<Value>,
    /// Number of runs at each load
    #[arg(long, value_name = "N", default_value = "3", value_parser = python::int)]
    pub(in crate::evalscope) sla_num_runs: i64,
    /// The largest load
    #[arg(long, value_name = "N", default_value = "65536", value_parser = python::int)]
    pub(in crate::evalscope) sla_upper_bound: i64,
    /// The smallest load
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::evalscope) sla_lower_bound: i64,
    /// Maximum number of requests in flight during a search for a rate; by default
    /// --sla-upper-bound
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) sla_fixed_parallel: Option<i64>,
    /// Number of requests of a run per unit of load; by default 2
    #[arg(long, value_name = "FACTOR", value_parser = python::float)]
    pub(in crate::evalscope) sla_number_multiplier: Option<f64>,
}

flags! { SlaArgs {
    SLA_AUTO_TUNE = "--sla-auto-tune";
    SLA_VARIABLE = "--sla-variable" => [Needs(Self::SLA_AUTO_TUNE)];
    SLA_PARAMS = "--sla-params" => [Needs(Self::SLA_AUTO_TUNE)];
    SLA_NUM_RUNS = "--sla-num-runs" => [Needs(Self::SLA_AUTO_TUNE)];
    SLA_UPPER_BOUND = "--sla-upper-bound" => [Needs(Self::SLA_AUTO_TUNE)];
    SLA_LOWER_BOUND = "--sla-lower-bound" => [Needs(Self::SLA_AUTO_TUNE)];
    SLA_FIXED_PARALLEL = "--sla-fixed-parallel"
        => [Needs(Self::SLA_AUTO_TUNE), Only(Self::SLA_VARIABLE, &["rate"])];
    SLA_NUMBER_MULTIPLIER = "--sla-number-multiplier" => [Needs(Self::SLA_AUTO_TUNE)];
}}
