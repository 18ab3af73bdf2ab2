//! Servemark's own flags for embeddings and rankings. SGLang's client sends one text per request,
//! and has no rankings.

use clap::Args;
use servemark_backends::EncodingFormat;

use super::choice::backends;
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: embeddings and rankings")]
pub(in crate::sglang) struct EmbeddingArgs {
    /// Number of texts in an embedding request
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::sglang) batch_size: i64,
    /// Format of vectors: float or base64; by default the server's own
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(in crate::sglang) encoding_format: Option<EncodingFormat>,
    /// Number of dimensions of vectors; by default the model's own
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) dimensions: Option<i64>,
    /// Number of documents in a ranking request
    #[arg(long, value_name = "N", default_value = "10", value_parser = python::int)]
    pub(in crate::sglang) documents: i64,
}

flags! { EmbeddingArgs {
    BATCH_SIZE = "--batch-size" => [backends(&["sglang-embedding", "vllm-embedding"])];
    ENCODING_FORMAT = "--encoding-format" => [backends(&["sglang-embedding", "vllm-embedding"])];
    DIMENSIONS = "--dimensions" => [backends(&["sglang-embedding", "vllm-embedding"])];
    DOCUMENTS = "--documents" => [backends(&["sglang-rerank", "vllm-rerank"])];
}}

fn parse_format(name: &str) -> Result<EncodingFormat, String> {
    let known = [EncodingFormat::Base64, EncodingFormat::Float];
    let found = known.into_iter().find(|format| format.as_str() == name);
    found.ok_or_else(|| python::expected(&["float", "base64"], name))
}
