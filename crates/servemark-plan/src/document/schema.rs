//! JSON Schema of a plan's document, made of the declarations of the plan's types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use servemark_backends::{BackendSpec, CommonSpec};
use servemark_datasets::DatasetSpec;
use servemark_schedule::{ArrivalSpec, RampShape};

use super::datasets::{aisbench_part, dataset};
use super::path::{KeyPath, PathStep};
use super::trace::{Form, Step, Traced, form_at};
use crate::BenchPlan;

/// Returns the JSON Schema of a plan's document: of the files that `servemark run` reads. A section
/// that is marked as an open object takes keys that depend on its kind.
pub fn plan_schema() -> Value {
    let mut schema = schema_of::<PlanFields>();
    // Runs before this one have data sets of the same kinds.
    schema["properties"]["workload"]["properties"]["after"]["items"]["properties"]["dataset"] =
        json!({"$ref": DATASET});
    let sections = schema["properties"].as_object_mut().into_iter().flatten();
    for (name, section) in sections {
        if let Some((_, description)) = SECTIONS.iter().find(|(known, _)| known == name) {
            section["description"] = json!(description);
        }
    }
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "servemark/plan/1",
        "title": "A run of Servemark, as servemark run reads it",
        "required": ["server", "backend", "workload"],
    });
    if let (Some(whole), Value::Object(schema)) = (whole.as_object_mut(), schema) {
        whole.extend(schema);
    }
    whole["$defs"] = json!({"aisbench": aisbench_part()});
    whole
}

/// Returns the keys that are known beside an unknown key of a document.
pub(super) fn known_keys(path: &KeyPath, document: &Value) -> Vec<String> {
    let whole = plan_schema();
    let (mut schema, mut value) = (&whole, document);
    for step in path.parent().steps() {
        let inside = match step {
            PathStep::Key(key) => {
                let mut fields = Vec::new();
                properties(schema, value, &mut fields);
                value = value.get(key).unwrap_or(&Value::Null);
                fields.into_iter().find_map(|fields| fields.get(key))
            }
            PathStep::Item(place) => {
                value = value.get(place).unwrap_or(&Value::Null);
                item(schema, *place)
            }
        };
        let Some(inside) = inside.and_then(|schema| resolved(schema, &whole)) else {
            return Vec::new();
        };
        schema = inside;
    }
    let mut fields = Vec::new();
    properties(schema, value, &mut fields);
    fields.into_iter().flat_map(|fields| fields.keys().cloned()).collect()
}

/// Returns the schema to which another one refers, or the schema itself if it does not refer.
fn resolved<'a>(schema: &'a Value, whole: &'a Value) -> Option<&'a Value> {
    match schema["$ref"].as_str() {
        Some(place) => whole.pointer(place.strip_prefix('#')?),
        None => Some(schema),
    }
}

/// Returns the schema of an item of a list.
fn item(list: &Value, place: usize) -> Option<&Value> {
    list["prefixItems"].get(place).or_else(|| list.get("items"))
}

/// Adds the properties of a schema and of those alternatives whose tag is that of the value.
fn properties<'a>(schema: &'a Value, value: &Value, found: &mut Vec<&'a Map<String, Value>>) {
    let fits = |alternative: &&Value| {
        let fields = alternative["properties"].as_object().into_iter().flatten();
        let mut tags = fields.filter_map(|(key, form)| Some((key, form.get("const")?)));
        tags.all(|(key, tag)| value.get(key) == Some(tag))
    };
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    alternatives.filter(fits).for_each(|schema| properties(schema, value, found));
    found.extend(schema["properties"].as_object());
}

/// A plan that is read from its deserializer and not, as [`BenchPlan`], from a JSON value.
struct PlanFields;

impl<'de> Deserialize<'de> for PlanFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BenchPlan::deserialize(deserializer).map(|_| Self)
    }
}

/// Returns the schema of a type.
pub(super) fn schema_of<T: DeserializeOwned>() -> Value {
    at(form_at::<T>, &mut Vec::new(), tagged)
}

/// Returns the schema of a type whose enums with a tag have schemas of their own.
pub(super) fn schema_with<T: DeserializeOwned>(tagged: Tagged) -> Value {
    at(form_at::<T>, &mut Vec::new(), tagged)
}

/// Function that returns the schema of an internally tagged enum, from serde's name for it.
type Tagged = fn(&str) -> Value;

/// [`form_at`] of a type. All types share the functions below, which would be compiled again for
/// each of them if they were generic.
type FormAt = fn(&[Step]) -> Option<Traced>;

fn at(form_at: FormAt, path: &mut Vec<Step>, tagged: Tagged) -> Value {
    let Some((form, is_optional)) = form_at(path) else { return json!({}) };
    let schema = match form {
        Form::Any(expected) => tagged(&expected),
        Form::Boolean => json!({"type": "boolean"}),
        Form::Integer => json!({"type": "integer"}),
        Form::Number => json!({"type": "number"}),
        Form::Text => json!({"type": "string"}),
        Form::Unit => json!({"type": "null"}),
        Form::Map => json!({"type": "object"}),
        Form::List => json!({"type": "array", "items": inside(form_at, path, Step::Item, tagged)}),
        Form::Struct(names) => {
            let fields = names.iter().map(|name| {
                // A plan holds a plan of its own type as its warm-up.
                let is_plan = *name == "warm_up";
                let mut field = || inside(form_at, path, Step::Field(name), tagged);
                ((*name).to_owned(), if is_plan { json!({"$ref": "#"}) } else { field() })
            });
            let fields: Map<String, Value> = fields.collect();
            json!({"type": "object", "properties": fields, "additionalProperties": false})
        }
        Form::Enum(names) => variants(form_at, path, names, tagged),
    };
    if is_optional { or_null(schema) } else { schema }
}

fn inside(form_at: FormAt, path: &mut Vec<Step>, step: Step, tagged: Tagged) -> Value {
    path.push(step);
    let schema = at(form_at, path, tagged);
    path.pop();
    schema
}

/// Returns the schema of an enum whose variants have names: texts, or objects with the variant's
/// name as the only key.
fn variants(
    form_at: FormAt,
    path: &mut Vec<Step>,
    names: &'static [&'static str],
    tagged: Tagged,
) -> Value {
    let mut texts = Vec::new();
    let mut objects = Vec::new();
    for name in names {
        match inside(form_at, path, Step::Variant(name), tagged) {
            unit if unit["type"] == "null" => texts.push(json!(name)),
            schema => objects.push(json!({
                "type": "object",
                "properties": {*name: schema},
                "required": [name],
                "additionalProperties": false,
            })),
        }
    }
    if objects.is_empty() {
        return json!({"enum": texts});
    }
    objects.extend((!texts.is_empty()).then(|| json!({"enum": texts})));
    json!({"oneOf": objects})
}

fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema["type"].as_str() {
        schema["type"] = json!([kind, "null"]);
    } else if let Some(names) = schema["enum"].as_array_mut() {
        names.push(Value::Null);
    } else if let Some(alternatives) = schema["oneOf"].as_array_mut() {
        alternatives.push(json!({"type": "null"}));
    }
    schema
}

/// Returns the schema of an internally tagged enum, from serde's name for it. Its contents are not
/// visible through `Deserialize`, so each known type has an arm of its own. Other values may be
/// anything.
fn tagged(expected: &str) -> Value {
    match expected.strip_prefix("internally tagged enum ") {
        Some("ArrivalSpec") => alternatives::<ArrivalSpec>("process", arrivals),
        Some("BackendSpec") => alternatives::<BackendSpec>("route", |_| schema_of::<CommonSpec>()),
        Some("DatasetSpec") => alternatives::<DatasetSpec>("dataset", dataset),
        _ => json!({}),
    }
}

/// Returns the schema of an enum with a tag inside a data set: a data set again, by reference.
pub(super) fn inner(expected: &str) -> Value {
    match expected {
        "internally tagged enum DatasetSpec" => json!({"$ref": DATASET}),
        other => tagged(other),
    }
}

/// Place of the schema of data sets in that of a plan.
const DATASET: &str = "#/properties/workload/properties/dataset";

/// Returns the alternatives of an enum with a tag. Keys beside those of `contents` are allowed.
pub(super) fn alternatives<T: DeserializeOwned>(tag: &str, contents: fn(&str) -> Value) -> Value {
    alternatives_of(names_of::<T>(tag), tag, contents)
}

fn alternatives_of(names: Vec<String>, tag: &str, contents: fn(&str) -> Value) -> Value {
    let schemas = names.into_iter().map(|name| {
        let mut schema = contents(&name);
        let mut fields = Map::from_iter([(tag.to_owned(), json!({"const": name}))]);
        fields.extend(schema["properties"].as_object().cloned().unwrap_or_default());
        schema["type"] = json!("object");
        schema["properties"] = Value::Object(fields);
        schema["required"] = json!([tag]);
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("additionalProperties");
        }
        schema
    });
    json!({"oneOf": schemas.collect::<Vec<_>>()})
}

/// Returns the names of an enum with a tag, from serde's message about an unknown one.
fn names_of<T: DeserializeOwned>(tag: &str) -> Vec<String> {
    let unknown = serde_json::from_value::<T>(json!({tag: "\u{1}"})).err();
    let message = unknown.map(|error| error.to_string()).unwrap_or_default();
    message.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

fn arrivals(name: &str) -> Value {
    let number = json!({"type": "number", "exclusiveMinimum": 0});
    // Without a number the gaps are equal.
    let burstiness = json!({"type": ["number", "null"], "exclusiveMinimum": 0});
    match name {
        "poisson" => json!({"properties": {"requests_per_second": number}}),
        "gamma" => json!({"properties": {"requests_per_second": number, "burstiness": burstiness}}),
        "ramp" => json!({"properties": {
            "ramp": {
                "type": "object",
                "properties": {
                    "growth": schema_of::<RampShape>(),
                    "from": number,
                    "to": number,
                },
                "required": ["growth", "from", "to"],
            },
            "burstiness": burstiness,
        }}),
        "trace" => json!({"properties": {"slowdown": {"type": "number", "minimum": 0}}}),
        // A burst and a timetable have no settings.
        _ => json!({}),
    }
}

/// Descriptions of the sections of a plan.
const SECTIONS: [(&str, &str); 11] = [
    ("server", "Server that is measured: at (an address), simulated (the bundled simulator)"),
    ("control", "Control requests to the server around the measurement; may be left out"),
    ("backend", "Name of the backend; it selects the server's conventions"),
    ("wire", "Wire dialect of the route; keys that are left out are those of the backend"),
    ("model", "Model and tokenizer; if left out, the server is asked for its model"),
    ("workload", "Requests that are sent"),
    ("load", "When requests are sent; a burst if left out"),
    ("warm_up", "Plan of a run before this one, which is not reported"),
    ("scoring", "Scoring of the run: tables, objectives, gates"),
    ("output", "Files besides those of the run's folder"),
    ("echo", "Values that a peer's result file repeats, as an object or its JSON text"),
];
