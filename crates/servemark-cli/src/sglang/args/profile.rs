//! Flags about the server's profiler.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};

use crate::argparse::Limit::Needs;
use crate::argparse::{LIST, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Profiler")]
pub(in crate::sglang) struct ProfileArgs {
    /// Run the server's profiler during the measurement
    #[arg(long)]
    pub(in crate::sglang) profile: bool,
    /// Activities that the profiler records
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST, default_values = ["CPU", "GPU"],
          value_parser = PossibleValuesParser::new(ACTIVITIES))]
    pub(in crate::sglang) profile_activities: Vec<String>,
    /// The step at which the profiler starts
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) profile_start_step: Option<i64>,
    /// After how many steps the profiler stops by itself; overrides --profile-num-steps
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) profile_steps: Option<i64>,
    /// After how many steps the profiler stops by itself
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) profile_num_steps: Option<i64>,
    /// Profile prefill and decode separately; 5 steps of each if no number is given
    #[arg(long)]
    pub(in crate::sglang) profile_by_stage: bool,
    /// Stages that the profiler records
    #[arg(long, value_name = "NAME", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::sglang) profile_stages: Option<Vec<String>>,
    /// The server's folder for traces; by default $SGLANG_TORCH_PROFILER_DIR, else /tmp
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) profile_output_dir: Option<String>,
    /// Beginning of the names of the profiler's files
    #[arg(long, value_name = "TEXT")]
    pub(in crate::sglang) profile_prefix: Option<String>,
    /// Profile the workers of --profile-prefill-url or --profile-decode-url instead of the server,
    /// which passes requests on to them
    #[arg(long)]
    pub(in crate::sglang) pd_separated: bool,
    /// The addresses of the workers that prefill
    #[arg(long, value_name = "URL", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::sglang) profile_prefill_url: Option<Vec<String>>,
    /// The addresses of the workers that decode; they cannot be profiled together with those that
    /// prefill
    #[arg(long, value_name = "URL", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::sglang) profile_decode_url: Option<Vec<String>>,
}

flags! { ProfileArgs {
    PROFILE = "--profile";
    PROFILE_ACTIVITIES = "--profile-activities" => [Needs(Self::PROFILE)];
    PROFILE_START_STEP = "--profile-start-step" => [Needs(Self::PROFILE)];
    PROFILE_STEPS = "--profile-steps" => [Needs(Self::PROFILE)];
    PROFILE_NUM_STEPS = "--profile-num-steps" => [Needs(Self::PROFILE)];
    PROFILE_BY_STAGE = "--profile-by-stage" => [Needs(Self::PROFILE)];
    PROFILE_STAGES = "--profile-stages" => [Needs(Self::PROFILE)];
    PROFILE_OUTPUT_DIR = "--profile-output-dir" => [Needs(Self::PROFILE)];
    PROFILE_PREFIX = "--profile-prefix" => [Needs(Self::PROFILE)];
    PD_SEPARATED = "--pd-separated" => [Needs(Self::PROFILE)];
    PROFILE_PREFILL_URL = "--profile-prefill-url" => [Needs(Self::PROFILE), Needs(Self::PD_SEPARATED)];
    PROFILE_DECODE_URL = "--profile-decode-url" => [Needs(Self::PROFILE), Needs(Self::PD_SEPARATED)];
}}

const ACTIVITIES: [&str; 5] = ["CPU", "GPU", "CUDA_PROFILER", "XPU", "MEM"];
