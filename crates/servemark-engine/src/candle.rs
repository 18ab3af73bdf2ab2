//! The engine in this program: Llama's family of models on candle's kernels, on the CPU.
//!
//! Requests are batched continuously: each step processes the tokens that each running request has
//! not processed yet, its prompt or its last token, as rows of one matrix. The tokens of a request
//! do not depend on the other requests in the batch.

mod config;
mod error;
mod layer;
mod model;
mod rope;
mod running;
mod sampler;
mod weights;

use candle_core::Tensor;
use servemark_core::{EngineFacts, ErrorKind, RequestError, Weights as Origin};

use self::config::ModelConfig;
use self::error::{CandleError, Loading};
use self::model::{BatchPart, Model};
use self::running::Running;
use self::weights::Weights;
use crate::{
    CandleSpec, Emission, EngineError, EnginePrompt, EngineRequest, LoadFormat, RequestId,
    StepEngine,
};

/// An engine that runs Llama's family of models on the CPU.
#[derive(Debug)]
pub struct CandleEngine {
    spec: CandleSpec,
    model: Model,
    running: Vec<Running>,
}

impl CandleEngine {
    /// Loads the spec's model, with its own weights or random ones. If the spec names no model,
    /// creates a small one with random weights.
    pub fn load(spec: CandleSpec) -> Result<Self, EngineError> {
        let model = load(&spec).map_err(|error| EngineError::Load {
            name: NAME.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { spec, model, running: Vec::new() })
    }

    /// Distributes the token budget of the next step. Requests that were admitted first come first,
    /// so a long prompt delays the requests that are already running by at most one step.
    fn deal(&mut self) {
        let mut left = self.spec.max_step_tokens.get();
        for running in &mut self.running {
            left -= running.take(left);
        }
    }

    /// Processes the step's tokens. Returns the logits of the next token, one row for each request
    /// whose input is fully processed.
    fn read(&mut self) -> candle_core::Result<Option<Tensor>> {
        let mut parts: Vec<BatchPart<'_>> =
            self.running.iter_mut().filter_map(Running::part).collect();
        self.model.forward(&mut parts)
    }

    fn check(&self, ids: &[u32], output_tokens: u32) -> Result<(), RequestError> {
        let ModelConfig { vocabulary, context, .. } = *self.model.config();
        if ids.is_empty() || output_tokens == 0 {
            return Err(refusal(
                "a request needs at least one prompt token and one output token".to_owned(),
            ));
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(refusal(format!(
                "token id {id} is beyond the model's vocabulary of {vocabulary}; the tokenizer belongs \
                 to another model"
            )));
        }
        let (input, output) = (ids.len(), output_tokens as usize);
        if input + output > context {
            return Err(refusal(format!(
                "{input} prompt tokens and {output} output tokens exceed the model's context of \
                 {context}"
            )));
        }
        Ok(())
    }
}

fn load(spec: &CandleSpec) -> Loading<Model> {
    let config = match &spec.model {
        Some(folder) => ModelConfig::read(folder)?,
        None => ModelConfig::made_up(),
    };
    let mut weights = match &spec.model {
        Some(folder) if spec.load_format == LoadFormat::Auto => Weights::read(folder)?,
        _ => Weights::dummy(spec.seed),
    };
    Model::load(config, &mut weights)
}

impl StepEngine for CandleEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = EngineFacts::new(NAME, VERSION);
        let is_real = self.spec.model.is_some() && self.spec.load_format == LoadFormat::Auto;
        facts.weights = if is_real { Origin::Real } else { Origin::Dummy };
        facts.device = format!("cpu, {} threads", candle_core::utils::get_num_threads());
        "float32".clone_into(&mut facts.dtype);
        let CandleSpec { max_running, max_step_tokens, .. } = self.spec;
        facts.batch_policy =
            format!("continuous, {max_running} requests and {max_step_tokens} tokens at once");
        facts
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.spec.max_running.get()
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    fn admit(&mut self, request: EngineRequest) -> Result<(), RequestError> {
        let EnginePrompt::Ids(ids) = request.prompt else {
            return Err(refusal("the engine reads token ids; name a tokenizer".to_owned()));
        };
        self.check(&ids, request.output_tokens)?;
        let choice = sampler::choice(&request.sampling, self.spec.seed, request.id)
            .map_err(|error| refusal(format!("its sampling parameters: {error}")))?;
        let most = request.output_tokens;
        let layers = self.model.config().layers;
        self.running.push(Running::new(request.id, ids, most, choice, layers));
        Ok(())
    }

    fn cancel(&mut self, id: RequestId) {
        self.running.retain(|running| running.id() != id);
    }

    fn step(&mut self, out: &mut dyn FnMut(Emission)) -> Result<(), EngineError> {
        self.deal();
        let logits = self.read().map_err(broken)?;
        let ends = &self.model.config().ends;
        let mut rows = 0..;
        for running in &mut self.running {
            if running.has_read()
                && let (Some(logits), Some(row)) = (&logits, rows.next())
            {
                let row = logits.get(row).map_err(broken)?;
                running.choose(&row, ends, out).map_err(broken)?;
            }
        }
        self.running.retain(Running::goes_on);
        Ok(())
    }
}

fn refusal(why: String) -> RequestError {
    RequestError::new(ErrorKind::Status, why)
}

fn broken(error: candle_core::Error) -> EngineError {
    EngineError::Broken { name: NAME, reason: CandleError::from(error).to_string() }
}

const NAME: &str = "candle";

/// Candle's version, which its API does not report.
const VERSION: &str = "0.11.1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_is_linked() {
        let locked = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let locked = std::fs::read_to_string(locked).unwrap();
        assert!(locked.contains(&format!("name = \"candle-core\"\nversion = \"{VERSION}\"")));
    }
}
