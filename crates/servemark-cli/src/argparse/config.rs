//! Reads `--config FILE.yaml`: flags in a file, which go before those of the command line.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use yaml_rust2::Yaml;

use super::{Flag, yaml};
use crate::environment::Environment;
use crate::error::CliError;

/// Returns the arguments with those of their config file in front, so that the command line
/// overrides the file. `has_flag` says whether the command has a flag of the given name.
pub(crate) fn with_config(
    args: Vec<String>,
    environment: &Environment,
    has_flag: impl Fn(&str) -> bool,
) -> Result<Vec<String>, CliError> {
    let places: Vec<usize> =
        (0..args.len()).filter(|&place| args[place] == CONFIG.name()).collect();
    let place = match places.as_slice() {
        [] => return Ok(args),
        [place] => *place,
        _ => return Err(CliError::Together("More than one config file specified!")),
    };
    let path = args.get(place + 1).ok_or(CliError::Together(
        "No config file specified! Please check your command-line arguments.",
    ))?;
    let mut given = flags(&read(path, environment)?, has_flag);
    given.extend_from_slice(&args[..place]);
    given.extend_from_slice(&args[place + 2..]);
    Ok(given)
}

fn read(path: &str, environment: &Environment) -> Result<Yaml, CliError> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    if !["yaml", "yml"].contains(&ending) {
        let message = format!("Config file must be of a yaml/yml type. {ending} supplied");
        return Err(CliError::Peer(message));
    }
    let bad = |why: String| CliError::setting(CONFIG, format!("{path} {why}"));
    let text = environment.read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    match yaml::load(&text).map_err(bad)? {
        Some(map @ Yaml::Hash(_)) => Ok(map),
        _ => Err(bad("holds no map of flags to values".to_owned())),
    }
}

/// Returns the first document of a YAML text as JSON. An error does not name the file.
pub(crate) fn yaml_document(text: &str) -> Result<Value, String> {
    Ok(yaml::load(text)?.as_ref().map(to_json).unwrap_or_default())
}

/// Returns one flag, with its values, for each key of a map.
fn flags(map: &Yaml, has_flag: impl Fn(&str) -> bool) -> Vec<String> {
    let mut args = Vec::new();
    for (key, value) in map.as_hash().into_iter().flatten() {
        let key = scalar(key);
        match value {
            Yaml::Array(items) if items.is_empty() => {}
            Yaml::Array(items) => {
                args.push(format!("--{key}"));
                args.extend(items.iter().map(scalar));
            }
            value => match (switch(value), format!("--no-{key}")) {
                (Some(true), _) => args.push(format!("--{key}")),
                (Some(false), off) => args.extend(has_flag(&off).then_some(off)),
                (None, _) => args.extend([format!("--{key}"), scalar(value)]),
            },
        }
    }
    args
}

/// Returns whether a value is on or off, in YAML 1.1's words for them, such as `yes` and `off`;
/// `None` if it is neither.
fn switch(value: &Yaml) -> Option<bool> {
    match value {
        Yaml::Boolean(on) => Some(*on),
        Yaml::String(word) => match word.to_lowercase().as_str() {
            "yes" | "on" => Some(true),
            "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a value as one argument, as Python writes it; a map or a list becomes JSON.
fn scalar(value: &Yaml) -> String {
    match value {
        Yaml::Real(text) => text.replace(".inf", "inf"),
        Yaml::String(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(on) => if *on { "True" } else { "False" }.to_owned(),
        Yaml::Hash(_) | Yaml::Array(_) => to_json(value).to_string(),
        _ => "None".to_owned(),
    }
}

fn to_json(value: &Yaml) -> Value {
    match value {
        Yaml::Hash(map) => {
            let pair = |(key, value): (&Yaml, &Yaml)| (scalar(key), to_json(value));
            map.iter().map(pair).collect::<JsonObject>().into()
        }
        Yaml::Array(items) => items.iter().map(to_json).collect(),
        Yaml::Real(text) => {
            text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number))
        }
        Yaml::String(text) => json!(text),
        Yaml::Integer(number) => json!(number),
        Yaml::Boolean(on) => json!(on),
        _ => Value::Null,
    }
}

/// Flag that names the file. It is removed before argparse's rules apply.
const CONFIG: Flag = Flag::new("--config");

#[cfg(test)]
mod tests {
    use super::*;

    fn with(yaml: &str, args: &[&str]) -> Result<Vec<String>, CliError> {
        let environment = Environment::default().with_file("run.yaml", yaml);
        let args = args.iter().copied().map(str::to_owned).collect();
        with_config(args, &environment, |flag| flag == "--no-self-timed")
    }

    #[track_caller]
    fn refuses(args: &[&str], message: &str) {
        assert_eq!(with("[1]", args).unwrap_err().to_string(), message);
    }

    #[test]
    fn keys_are_flags_before_the_others() {
        let yaml = "num_prompts: 7\nrequest-rate: .inf\nburstiness: 0.5\nlabel: 'x y'\n\
                    save-result: true\nprofile: off\nself-timed: false\nheader: [A=1, B=2]\n\
                    metadata: []\nextra-body:\n  a: {b: [1, 2.5, yes, null]}\n";
        let args = with(yaml, &["--seed", "3", "--config", "run.yaml", "--model", "m"]).unwrap();
        let expected = [
            "--num_prompts",
            "7",
            "--request-rate",
            "inf",
            "--burstiness",
            "0.5",
            "--label",
            "x y",
            "--save-result",
            "--no-self-timed",
            "--header",
            "A=1",
            "B=2",
            "--extra-body",
            r#"{"a":{"b":[1,2.5,"yes",null]}}"#,
            "--seed",
            "3",
            "--model",
            "m",
        ];
        assert_eq!(args, expected);
    }

    #[test]
    fn a_bad_file_is_told() {
        refuses(&["--config", "a.json"], "Config file must be of a yaml/yml type. json supplied");
        refuses(&["--config", "run.yaml"], "--config run.yaml holds no map of flags to values");
        refuses(
            &["--config"],
            "No config file specified! Please check your command-line arguments.",
        );
        refuses(&["--config", "a", "--config", "b"], "More than one config file specified!");
        let absent = with("", &["--config", "absent.yml"]).unwrap_err().to_string();
        assert!(absent.starts_with("--config absent.yml cannot be read: "), "{absent}");
    }
}
