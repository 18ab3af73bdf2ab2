//! What the measured work costs on rented GPUs.

use serde::Serialize;
use servemark_core::Hardware;

use crate::{Throughput, TokenTotals};

/// Cost and throughput per GPU, in the currency of the price.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// Number of GPUs that serve.
    pub gpus: u32,
    /// Output tokens per second and GPU.
    pub output_tokens_per_s_per_gpu: Option<f64>,
    /// Prompt and output tokens per second and GPU.
    pub total_tokens_per_s_per_gpu: Option<f64>,
    /// Price of one GPU for an hour; absent if it was not given, and so are all costs.
    pub price_per_gpu_hour: Option<f64>,
    /// Cost of a million output tokens.
    pub per_million_output_tokens: Option<f64>,
    /// Cost of a million prompt and output tokens.
    pub per_million_tokens: Option<f64>,
    /// Cost of a thousand requests that succeeded.
    pub per_thousand_requests: Option<f64>,
}

impl Cost {
    /// Divides rates and price by the number of GPUs; `None` if that number is not known.
    pub(crate) fn of(
        hardware: Hardware,
        tokens: &TokenTotals,
        throughput: &Throughput,
        completed: usize,
        duration_s: f64,
    ) -> Option<Self> {
        let gpus = hardware.gpus?;
        let per_gpu = |rate: Option<f64>| rate.map(|rate| rate / f64::from(gpus));
        let spent = hardware
            .price_per_gpu_hour
            .map(|price| price * f64::from(gpus) * duration_s / SECONDS_PER_HOUR);
        let each =
            |count: f64, unit: f64| spent.filter(|_| count > 0.0).map(|spent| spent / count * unit);
        let output = tokens.output.unwrap_or_default();
        Some(Self {
            gpus,
            output_tokens_per_s_per_gpu: per_gpu(throughput.output_tokens_per_s),
            total_tokens_per_s_per_gpu: per_gpu(throughput.total_tokens_per_s),
            price_per_gpu_hour: hardware.price_per_gpu_hour,
            per_million_output_tokens: each(output as f64, 1e6),
            per_million_tokens: each((output + tokens.input) as f64, 1e6),
            per_thousand_requests: each(completed as f64, 1e3),
        })
    }
}

const SECONDS_PER_HOUR: f64 = 3600.0;
