//! One character, repeated.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};

use super::measure::Measure;
use super::{EvalscopeName, EvalscopeSpec, RequestDraft};

/// One character, repeated to several lengths, with each length sent twice.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopeSpeedSpec {
    /// Whether the two greatest lengths are used instead of the four others.
    pub long: bool,
}

impl EvalscopeSpeedSpec {
    /// Returns the prompts, which are plain texts even if other prompts are sent as messages.
    pub(super) fn ask(
        &self,
        of: &EvalscopeSpec,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let lengths: &[usize] =
            if self.long { &[63_488, 129_024] } else { &[1, 6144, 14_336, 30_720] };
        let measure = Measure::of(of, context);
        let twice = lengths.iter().flat_map(|length| [length; 2]);
        twice.map(|length| measure.ask_alone("熵".repeat(*length))).collect()
    }

    pub(super) fn name(&self) -> EvalscopeName {
        if self.long { EvalscopeName::SpeedBenchmarkLong } else { EvalscopeName::SpeedBenchmark }
    }
}
