//! The files and commands for launchers in `docs/scale` and `docs/scale.md`: Kubernetes knows every
//! key of the manifests, and every command is one of this program.

use std::ffi::OsString;
use std::fs;

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Service;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servemark_cli::{ClusterArgs, Command, Environment, Invocation, dispatch, take_cluster};
use yaml_rust2::{Yaml, YamlLoader};

fn text(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    fs::read_to_string(format!("{path}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn documents(name: &str) -> Vec<Value> {
    YamlLoader::load_from_str(&text(name)).unwrap().iter().map(json).collect()
}

fn json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Array(items) => items.iter().map(json).collect(),
        Yaml::Boolean(is_set) => Value::from(*is_set),
        Yaml::Hash(fields) => {
            let field =
                |(key, value): (&Yaml, &Yaml)| (key.as_str().unwrap().to_owned(), json(value));
            Value::Object(fields.iter().map(field).collect())
        }
        Yaml::Integer(number) => Value::from(*number),
        Yaml::String(text) => Value::from(text.as_str()),
        other => panic!("{other:?} is not used in these files"),
    }
}

/// Reads a manifest as Kubernetes' own type and writes it again. What the type does not know gets
/// lost on the way.
fn round_trip<T: DeserializeOwned + Resource + Serialize>(manifest: &Value) -> Option<Value> {
    let is_one = manifest["kind"] == T::KIND && manifest["apiVersion"] == T::API_VERSION;
    is_one.then(|| {
        let read: T = serde_json::from_value(manifest.clone()).unwrap();
        serde_json::to_value(read).unwrap()
    })
}

/// Splits the words of a command of a shell; there are no spaces within quotes.
fn words(command: &str) -> Vec<String> {
    let spaced = command.replace("\\\n", " ");
    spaced.split_whitespace().map(|word| word.replace('"', "")).collect()
}

/// Parses a command of this program as a rank that a launcher started.
#[track_caller]
fn rank_of(command: &[String], launcher: &[(&str, &str)]) -> ClusterArgs {
    let environment = launcher.iter().fold(Environment::default(), |environment, (name, value)| {
        environment.with_variable(name, value)
    });
    let args = command.iter().map(Into::into).collect();
    let (rest, cluster) =
        take_cluster(args, &environment).unwrap_or_else(|error| panic!("{error}"));
    let invocation = dispatch::parse(rest, &environment).unwrap_or_else(|error| panic!("{error}"));
    assert!(invocation.rank_settings().is_ok(), "{command:?} cannot be shared");
    cluster.expect("it has a coordinator")
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn kubernetes_knows_every_key_of_the_manifests() {
    let manifests = documents("scale/job.yaml");
    for manifest in &manifests {
        let known = round_trip::<Deployment>(manifest)
            .or_else(|| round_trip::<Job>(manifest))
            .or_else(|| round_trip::<Service>(manifest));
        assert_eq!(known.as_ref(), Some(manifest));
    }
    let [nats, _, pods, job] = <[Value; 4]>::try_from(manifests).unwrap();
    let (spec, pod) = (&job["spec"], &job["spec"]["template"]["spec"]);
    assert_eq!(pod["subdomain"], pods["metadata"]["name"]);
    let rank = rank_of(&strings(&pod["containers"][0]["args"]), &[("JOB_COMPLETION_INDEX", "3")]);
    assert_eq!((rank.rank, &spec["completions"]), (3, &Value::from(rank.world.get())));
    assert_eq!(spec["completions"], spec["parallelism"]);
    let service = nats["metadata"]["name"].as_str().unwrap();
    assert_eq!(rank.url, format!("nats://{service}:{}", nats["spec"]["ports"][0]["port"]));
}

#[test]
fn the_base_for_overlays_has_the_manifests_and_their_image() {
    let [base] = <[Value; 1]>::try_from(documents("scale/kustomization.yaml")).unwrap();
    let jobs = strings(&base["resources"]);
    let jobs = jobs.iter().flat_map(|name| documents(&format!("scale/{name}")));
    let job = jobs.last().unwrap();
    let image = job["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap();
    assert_eq!(base["images"][0]["name"], image.split(':').next().unwrap());
}

#[test]
fn compose_starts_every_rank() {
    let [file] = <[Value; 1]>::try_from(documents("scale/compose.yaml")).unwrap();
    let services = file["services"].as_object().unwrap();
    let ranks = services.values().filter_map(|service| {
        let command = words(service["<<"]["command"].as_str()?);
        Some(rank_of(&command, &[("RANK", service["environment"]["RANK"].as_str()?)]))
    });
    let ranks: Vec<ClusterArgs> = ranks.collect();
    assert_eq!(ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1, 2]);
    for rank in ranks {
        assert_eq!(rank.world.get(), 3);
        let host = rank.url.trim_start_matches("nats://").trim_end_matches(":4222");
        assert!(services.contains_key(host), "{host} is no service");
    }
}

#[test]
fn the_batch_script_starts_a_rank_on_every_node() {
    let script = text("scale/servemark.sbatch");
    let command = words(script.split_once("\nsrun ").unwrap().1);
    let place = command.iter().position(|word| word == "servemark").unwrap();
    let slurm = [("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "7")];
    let rank = rank_of(&command[place + 1..], &slurm);
    assert!(script.contains(&format!("\n#SBATCH --nodes={}\n", rank.world)), "{script}");
    assert_eq!((rank.rank, rank.name.as_str()), (2, "slurm-7-0"));
}

#[test]
fn every_command_of_the_documents_is_understood() {
    let launchers: [&[(&str, &str)]; 3] = [
        &[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")],
        &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")],
        &[],
    ];
    let mut understood = Vec::new();
    for document in ["scale.md", "../README.md"] {
        let text = text(document);
        let pieces = text.lines().flat_map(|line| line.split('`'));
        for command in pieces.filter(|piece| piece.contains("--coordinator nats://")) {
            let Some((before, command)) = command.split_once("servemark ") else { continue };
            let launcher = ["srun ", "mpirun "].iter().position(|name| before.starts_with(name));
            let any = command.replacen("vllm bench serve …", "vllm bench serve --model m", 1);
            let any = any.replacen('…', "bench-serving", 1);
            let rank = rank_of(&words(&any), launchers[launcher.unwrap_or(2)]);
            understood.push((rank.rank, rank.world.get()));
        }
        for command in text.lines().flat_map(|line| line.split('`')) {
            let Some((_, command)) = command.split_once("servemark launch ") else { continue };
            if !command.contains(" -- ") {
                continue;
            }
            let args =
                words(&format!("launch {}", command.replace('…', "").replace(" URL", " http://a")));
            let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
            let launch = match dispatch::parse(args, &Environment::default()) {
                Ok(Invocation::Command(Command::Launch(launch))) => launch,
                other => panic!("{other:?}"),
            };
            let own = ["--coordinator", "a", "--world", "3", "--rank", "2"].map(str::to_owned);
            let rank = rank_of(&[launch.command, own.into()].concat(), &[]);
            understood.push((rank.rank, launch.hosts.len()));
        }
    }
    understood.sort_unstable();
    assert_eq!(
        understood,
        [(0, 3), (1, 3), (1, 4), (1, 4), (1, 4), (2, 3), (2, 3), (2, 3)],
        "ranks and worlds"
    );
}
