//! Flags of the data set.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use super::choice::{DATASET, FROM_DATASET};
use crate::argparse::Limit::Where;
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data set")]
#[expect(clippy::struct_field_names, reason = "fields are named as the flags are")]
pub(in crate::evalscope) struct DatasetArgs {
    /// The data set that prompts come from
    #[arg(long, value_name = "NAME", default_value = "openqa")]
    pub(in crate::evalscope) dataset: String,
    /// The file or folder of the data set
    #[arg(long, value_name = "PATH")]
    pub(in crate::evalscope) dataset_path: Option<String>,
    /// Hub from which a data set is downloaded; by default huggingface
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["modelscope",
          "huggingface", "local"]))]
    pub(in crate::evalscope) data_source: Option<String>,
    /// The position in the vocabulary at which random prompts begin; it grows with every run
    #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
    pub(in crate::evalscope) dataset_offset: i64,
    /// The data set's own settings, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = python::json)]
    pub(in crate::evalscope) dataset_args: Option<Value>,
}

flags! { DatasetArgs {
    DATASET = DATASET.name() => [FROM_DATASET];
    DATASET_PATH = "--dataset-path" => [FROM_DATASET];
    DATA_SOURCE = "--data-source" => [Where(
        |effects| !effects.is(Self::DATASET_PATH) || effects.is_one_of(Self::DATA_SOURCE, &["local"]),
        "with --dataset-path",
    )];
    DATASET_OFFSET = "--dataset-offset" => [FROM_DATASET];
    DATASET_ARGS = "--dataset-args" => [FROM_DATASET];
}}
