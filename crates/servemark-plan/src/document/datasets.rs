//! Schemas of the data sets, each from its type.

use serde_json::{Map, Value, json};
use servemark_datasets::{
    AgenticTraceSpec, AisbenchConversations, AisbenchCustomSpec, AisbenchData, AisbenchIdsSpec,
    AisbenchMediaSpec, AisbenchTemplate, AisbenchTextSpec, AisbenchTraceSpec, BatchSpec,
    ConversationSpec, CustomSpec, EvalscopeData, EvalscopeDecisionsSpec, EvalscopeEmbeddingSpec,
    EvalscopeHub, EvalscopePicturedSpec, EvalscopePromptSpec, EvalscopeRandomEmbeddingSpec,
    EvalscopeRandomRerankSpec, EvalscopeRandomSpec, EvalscopeRandomTurnsSpec,
    EvalscopeRandomVlSpec, EvalscopeRerankSpec, EvalscopeSpeedSpec, EvalscopeSweSmithSpec,
    EvalscopeTextSpec, EvalscopeTrieSpec, EvalscopeTurnsSpec, EvalscopeWorkloadSpec, ImageSpec,
    LongBenchSpec, MaxTokens, MmmuSpec, MooncakeSpec, OpenaiSpec, PrefixRepetitionSpec,
    ProvidedDatasetSpec, RandomSpec, ShareGptSpec, SharedPrefixSpec, SpeedBenchSpec,
    TimedTraceSpec, TraceSpec, VllmBatchSpec, VllmBurstgptSpec, VllmCustomAudioSpec,
    VllmCustomImageSpec, VllmCustomSpec, VllmData, VllmHubSpec, VllmRandomMmSpec, VllmRandomSpec,
    VllmRerankSpec, VllmShareGptSpec,
};

use super::schema::{alternatives, inner, schema_of, schema_with};

/// Returns the schema of the data set with this tag.
pub(super) fn dataset(name: &str) -> Value {
    match name {
        "agentic_trace" => schema_of::<AgenticTraceSpec>(),
        "aisbench" => {
            let mut schema = aisbench_part();
            schema["properties"]["followed_by"] = followers();
            schema["properties"]["name"] = schema_of::<String>();
            schema
        }
        "batch" => schema_with::<BatchSpec>(inner),
        "custom" => schema_of::<CustomSpec>(),
        "evalscope" => {
            with_common(evalscope_fields(), alternatives::<EvalscopeData>("kind", evalscope))
        }
        "generated_shared_prefix" => schema_of::<SharedPrefixSpec>(),
        "longbench_v2" => schema_of::<LongBenchSpec>(),
        "image" => schema_of::<ImageSpec>(),
        "mmmu" => schema_of::<MmmuSpec>(),
        "mooncake" => schema_of::<MooncakeSpec>(),
        "openai" => schema_of::<OpenaiSpec>(),
        "provided" => schema_of::<ProvidedDatasetSpec>(),
        "random" => schema_of::<RandomSpec>(),
        "sharegpt" => schema_of::<ShareGptSpec>(),
        "speed_bench" => schema_of::<SpeedBenchSpec>(),
        "trace" => schema_of::<TraceSpec>(),
        "vllm" => with_common(vllm_fields(), alternatives::<VllmData>("kind", vllm)),
        _ => json!({}),
    }
}

/// Returns the schema of a peer's data sets: fields that all of them have, and those of each kind.
/// The type flattens its kinds, so its fields are not visible through `Deserialize`.
fn with_common(fields: Value, kinds: Value) -> Value {
    let mut schema = Map::from_iter([("properties".to_owned(), fields)]);
    if let Value::Object(kinds) = kinds {
        schema.extend(kinds);
    }
    Value::Object(schema)
}

/// Fields of `VllmSpec`.
fn vllm_fields() -> Value {
    json!({
        "seed": schema_of::<u32>(),
        "request_ids": schema_of::<Option<String>>(),
        "most_tokens": schema_of::<Option<u32>>(),
    })
}

fn vllm(kind: &str) -> Value {
    match kind {
        "batch" => schema_of::<VllmBatchSpec>(),
        "burstgpt" => schema_of::<VllmBurstgptSpec>(),
        "conversations" => schema_of::<ConversationSpec>(),
        "custom" => schema_of::<VllmCustomSpec>(),
        "custom_audio" => schema_of::<VllmCustomAudioSpec>(),
        "custom_image" => schema_of::<VllmCustomImageSpec>(),
        "hub" => schema_of::<VllmHubSpec>(),
        "prefix_repetition" => schema_of::<PrefixRepetitionSpec>(),
        "random" => schema_of::<VllmRandomSpec>(),
        "random_mm" => schema_of::<VllmRandomMmSpec>(),
        "random_rerank" => schema_of::<VllmRerankSpec>(),
        "sharegpt" => schema_of::<VllmShareGptSpec>(),
        "timed_trace" => schema_of::<TimedTraceSpec>(),
        _ => json!({}),
    }
}

/// Fields of `EvalscopeSpec`.
fn evalscope_fields() -> Value {
    json!({
        "chat": schema_of::<bool>(),
        "tokenize": schema_of::<bool>(),
        "tokenizer": schema_of::<bool>(),
        "shortest": schema_of::<u32>(),
        "longest": schema_of::<u32>(),
        "max_tokens": schema_of::<MaxTokens>(),
        "offset": schema_of::<u64>(),
        "hub": schema_of::<EvalscopeHub>(),
    })
}

fn evalscope(kind: &str) -> Value {
    match kind {
        "prompt" => schema_of::<EvalscopePromptSpec>(),
        "texts" => schema_of::<EvalscopeTextSpec>(),
        "pictured" => schema_of::<EvalscopePicturedSpec>(),
        "decisions" => schema_of::<EvalscopeDecisionsSpec>(),
        "random" => schema_of::<EvalscopeRandomSpec>(),
        "random_vl" => schema_of::<EvalscopeRandomVlSpec>(),
        "random_turns" => schema_of::<EvalscopeRandomTurnsSpec>(),
        "random_embedding" => schema_of::<EvalscopeRandomEmbeddingSpec>(),
        "random_rerank" => schema_of::<EvalscopeRandomRerankSpec>(),
        "embedding" => schema_of::<EvalscopeEmbeddingSpec>(),
        "rerank" => schema_of::<EvalscopeRerankSpec>(),
        "turns" => schema_of::<EvalscopeTurnsSpec>(),
        "swe_smith" => schema_of::<EvalscopeSweSmithSpec>(),
        "trie" => schema_of::<EvalscopeTrieSpec>(),
        "workload" => schema_of::<EvalscopeWorkloadSpec>(),
        "speed" => schema_of::<EvalscopeSpeedSpec>(),
        _ => json!({}),
    }
}

/// Fields of `AisbenchSpec` that are also allowed in a data set listed in `followed_by`.
fn aisbench_fields() -> Value {
    let flag = schema_of::<bool>();
    json!({
        "template": schema_of::<AisbenchTemplate>(),
        "answer": schema_of::<Option<String>>(),
        "messages": flag,
        "own_lengths": flag,
        "timed": flag,
        "output_tokens": schema_of::<u32>(),
        "from": schema_of::<usize>(),
        "until": schema_of::<Option<usize>>(),
        "repeats": schema_of::<u32>(),
        "adapters": schema_of::<Option<String>>(),
        "ids": flag,
        "counted": flag,
    })
}

/// Returns the schema of an AISBench data set without `followed_by`.
pub(super) fn aisbench_part() -> Value {
    with_common(aisbench_fields(), alternatives::<AisbenchData>("kind", aisbench))
}

/// Returns the schema of `followed_by`: a list of pairs of a name and a data set.
fn followers() -> Value {
    let pair = [schema_of::<String>(), json!({"$ref": AISBENCH_PART})];
    let pair = json!({"type": "array", "prefixItems": pair, "items": false, "minItems": 2});
    json!({"type": "array", "items": pair})
}

/// Place of the schema of [`aisbench_part`] in that of a plan.
const AISBENCH_PART: &str = "#/$defs/aisbench";

fn aisbench(kind: &str) -> Value {
    match kind {
        "conversations" => schema_of::<AisbenchConversations>(),
        "custom" => schema_of::<AisbenchCustomSpec>(),
        "shown" => schema_of::<AisbenchMediaSpec>(),
        "synthetic_ids" => schema_of::<AisbenchIdsSpec>(),
        "synthetic_text" => schema_of::<AisbenchTextSpec>(),
        "trace" => schema_of::<AisbenchTraceSpec>(),
        _ => json!({}),
    }
}
