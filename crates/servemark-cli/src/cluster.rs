//! Flags of a run that several machines share. Every command that measures a server takes them,
//! whatever its dialect is; they are taken out of the command line before its dialect reads the
//! rest.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, Parser, ValueEnum};
use servemark_client::Credentials;

use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::parse_command;
use crate::parsed::Parsed;

/// Share a run with other machines
#[derive(Clone, Debug, Parser)]
#[command(name = "cluster", args_override_self = true, max_term_width = 100)]
struct ClusterFlags {
    /// NATS server over which the ranks find each other: nats://HOST:PORT, tls://HOST:PORT, or either
    /// with /NAME behind it if several groups of ranks use one server, and with TOKEN@ or
    /// NAME:PASSWORD@ before the host
    #[arg(long, value_name = "URL")]
    coordinator: String,
    /// Number of ranks; by default that of the launcher: Slurm, Open MPI, PMI or torchrun
    #[arg(long, value_name = "N")]
    world: Option<NonZeroUsize>,
    /// Rank of this process, from 0; by default that of the launcher: an indexed Kubernetes job,
    /// Slurm, Open MPI, PMI or torchrun
    #[arg(long, value_name = "R")]
    rank: Option<usize>,
    /// What rank 0 gathers: records, which is what the report needs, or logs, which are the whole run
    /// logs of all ranks
    #[arg(long, value_name = "WHAT", default_value = "records")]
    gather: GatherWhat,
    /// Let ranks hand each other places of --max-concurrency that they do not use; by default each
    /// has a fixed part of the limit
    #[arg(long)]
    share_concurrency: bool,
    /// Exit with 3 if a rank was lost; otherwise the report says which part of the load is missing
    #[arg(long)]
    require_all_ranks: bool,
    /// Seconds to wait for the coordinator and the other ranks
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    join_timeout: u64,
    /// File with a NATS user's credentials; the environment may hold a token, or name and password
    #[arg(long, value_name = "FILE")]
    coordinator_creds: Option<PathBuf>,
    /// File with certificates of authorities by which the coordinator's certificate is checked
    #[arg(long, value_name = "FILE")]
    coordinator_ca: Option<PathBuf>,
    /// File with the certificate of this client, if the coordinator asks for one
    #[arg(long, value_name = "FILE", requires = "coordinator_key")]
    coordinator_cert: Option<PathBuf>,
    /// File with the key of --coordinator-cert
    #[arg(long, value_name = "FILE", requires = "coordinator_cert")]
    coordinator_key: Option<PathBuf>,
}

/// What rank 0 gathers from the other ranks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum GatherWhat {
    /// What the report needs.
    Records,
    /// The whole run logs.
    Logs,
}

/// This process's part in a run that several machines share.
#[derive(Clone, Eq, PartialEq)]
pub struct ClusterArgs {
    /// URL of the coordinator, without the name of the group and without secrets.
    pub url: String,
    /// Name of the group.
    pub name: String,
    /// Zero-based rank of this process.
    pub rank: usize,
    /// Number of ranks.
    pub world: NonZeroUsize,
    /// What rank 0 gathers.
    pub gather: GatherWhat,
    /// Whether the ranks hand places of a concurrency limit to each other.
    pub shares_concurrency: bool,
    /// Whether a lost rank fails the command.
    pub requires_all: bool,
    /// Time to wait for the coordinator and the other ranks.
    pub patience: Duration,
    /// File with a NATS user's credentials.
    pub credentials: Option<PathBuf>,
    /// Token for the coordinator.
    pub token: Option<String>,
    /// Name and password for the coordinator.
    pub user: Option<(String, String)>,
    /// File with certificates of authorities.
    pub authorities: Option<PathBuf>,
    /// Files with the certificate of this client and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Shows no secret.
impl fmt::Debug for ClusterArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, name, rank, world, .. } = self;
        write!(f, "rank {rank} of {world} at {url}/{name}")
    }
}

/// The part of its command line that a rank other than 0 uses; the plan comes from rank 0.
#[derive(Clone, Copy, Debug)]
pub enum RankSettings<'a> {
    /// The settings of a run beside its plan.
    Run(&'a Parsed),
    /// The credentials of an exploration.
    Explore(&'a Credentials),
    /// Nothing: the file of the run has faults, which rank 0 reports.
    Faulty,
}

/// Takes the flags of a shared run out of a command line. Returns the rest of it, and this process's
/// part in the run; `None` if the command line has no `--coordinator`.
pub fn take_cluster(
    args: Vec<OsString>,
    environment: &Environment,
) -> Result<(Vec<OsString>, Option<ClusterArgs>), UsageError> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let is_launch = args.first().is_some_and(|command| command == "launch");
    if is_launch || !args[..end].iter().any(|arg| name_of(arg) == Some(COORDINATOR)) {
        return Ok((args, None));
    }
    let (own, rest) = split(args, end);
    let flags: ClusterFlags = parse_command(PROGRAM, own)?;
    let cluster = flags.resolve(environment);
    let cluster = cluster.map_err(|error| UsageError::refused(PROGRAM, error))?;
    Ok((rest, Some(cluster)))
}

const PROGRAM: &str = "servemark";
const COORDINATOR: &str = "coordinator";

/// Returns the name of a long flag.
fn name_of(arg: &OsStr) -> Option<&str> {
    let name = arg.to_str()?.strip_prefix("--")?;
    Some(name.split_once('=').map_or(name, |(name, _)| name))
}

/// Splits the arguments before `end` into flags of a shared run and others.
fn split(args: Vec<OsString>, end: usize) -> (Vec<OsString>, Vec<OsString>) {
    let command = ClusterFlags::command();
    let takes_value = |arg: &OsStr| {
        let flag = command.get_arguments().find(|flag| flag.get_long() == name_of(arg))?;
        let is_joined = arg.to_string_lossy().contains('=');
        Some(flag.get_action().takes_values() && !is_joined)
    };
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    let mut args = args.into_iter().enumerate();
    while let Some((place, arg)) = args.next() {
        match takes_value(&arg).filter(|_| place < end && name_of(&arg).is_some()) {
            Some(has_value) => {
                own.push(arg);
                own.extend(args.by_ref().take(usize::from(has_value)).map(|(_, value)| value));
            }
            None => rest.push(arg),
        }
    }
    (own, rest)
}

impl ClusterFlags {
    fn resolve(self, environment: &Environment) -> Result<ClusterArgs, CliError> {
        let number = |names: &[&str]| number_of(environment, names);
        let missing = |flag: &'static str, names: &[&str]| {
            let why = format!("is needed, because no launcher says it ({})", names.join(", "));
            CliError::setting(flag, why)
        };
        let world = match self.world {
            Some(world) => world,
            None => number(&WORLDS)
                .and_then(NonZeroUsize::new)
                .ok_or_else(|| missing("--world", &WORLDS))?,
        };
        let rank = match self.rank {
            Some(rank) => rank,
            None => number(&RANKS).ok_or_else(|| missing("--rank", &RANKS))?,
        };
        if rank >= world.get() {
            let why =
                format!("must be below --world: ranks of {world} are 0 to {}", world.get() - 1);
            return Err(CliError::setting("--rank", why));
        }
        let Address { url, name, access } = Address::of(&self.coordinator)?;
        let name = name.or_else(|| job(environment)).unwrap_or_else(|| "default".to_owned());
        let variable = |name: &str| environment.variable(name).map(ToOwned::to_owned);
        let (token, user) = match access {
            UrlAccess::None => {
                (variable("NATS_TOKEN"), variable("NATS_USER").zip(variable("NATS_PASSWORD")))
            }
            UrlAccess::Token(token) => (Some(token), None),
            UrlAccess::User(name, password) => (None, Some((name, password))),
        };
        Ok(ClusterArgs {
            url,
            name,
            rank,
            world,
            gather: self.gather,
            shares_concurrency: self.share_concurrency,
            requires_all: self.require_all_ranks,
            patience: Duration::from_secs(self.join_timeout),
            credentials: self.coordinator_creds,
            token,
            user,
            authorities: self.coordinator_ca,
            certificate: self.coordinator_cert.zip(self.coordinator_key),
        })
    }
}

/// Variables of launchers with the number of processes, and with the number of this one.
const WORLDS: [&str; 4] = ["SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"];
const RANKS: [&str; 5] =
    ["JOB_COMPLETION_INDEX", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"];

fn number_of(environment: &Environment, names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| environment.variable(name)?.parse().ok())
}

/// Returns a name for the group that no other job of Slurm has.
fn job(environment: &Environment) -> Option<String> {
    let job = environment.variable("SLURM_JOB_ID")?;
    let step = environment.variable("SLURM_STEP_ID").unwrap_or("0");
    Some(format!("slurm-{job}-{step}"))
}

/// The parts of the coordinator's address.
struct Address {
    /// URL of the server, without secrets.
    url: String,
    /// Name of the group of ranks.
    name: Option<String>,
    access: UrlAccess,
}

/// What stands before the `@` of an address.
enum UrlAccess {
    None,
    Token(String),
    User(String, String),
}

impl Address {
    fn of(given: &str) -> Result<Self, CliError> {
        let (scheme, rest) = given.split_once("://").unwrap_or(("nats", given));
        let (access, rest) = match rest.rsplit_once('@') {
            None => (UrlAccess::None, rest),
            Some((access, rest)) => (UrlAccess::of(access), rest),
        };
        // A message does not show what stands before the host, which is a secret.
        let refuse =
            |why: &str| CliError::setting("--coordinator", format!("{why}: {scheme}://{rest}"));
        if !["nats", "tls"].contains(&scheme) {
            return Err(refuse("is nats://HOST:PORT or tls://HOST:PORT, and this is not"));
        }
        let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(refuse("has no host"));
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if !name.chars().all(is_plain) {
            return Err(refuse(
                "has a name of the group with other characters than letters, digits, - and _",
            ));
        }
        let name = Some(name).filter(|name| !name.is_empty()).map(ToOwned::to_owned);
        Ok(Self { url: format!("{scheme}://{host}"), name, access })
    }
}

impl UrlAccess {
    fn of(text: &str) -> Self {
        match text.split_once(':') {
            None => Self::Token(text.to_owned()),
            Some((name, password)) => Self::User(name.to_owned(), password.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(
        line: &str,
        environment: &Environment,
    ) -> Result<(Vec<String>, Option<ClusterArgs>), String> {
        let args = line.split(' ').map(Into::into).collect();
        let (rest, cluster) = take_cluster(args, environment).map_err(|error| error.to_string())?;
        Ok((rest.into_iter().map(|arg| arg.into_string().unwrap()).collect(), cluster))
    }

    #[test]
    fn the_flags_are_taken_out_of_any_command_line() {
        let none = Environment::default();
        let line = "vllm bench serve --coordinator nats://a:4222/x --model m --world=3 --rank 2 \
                    --require-all-ranks --port 80";
        let (rest, cluster) = take(&line.replace("                    ", ""), &none).unwrap();
        assert_eq!(rest.join(" "), "vllm bench serve --model m --port 80");
        let cluster = cluster.unwrap();
        assert_eq!((cluster.url.as_str(), cluster.name.as_str()), ("nats://a:4222", "x"));
        assert_eq!((cluster.rank, cluster.world.get(), cluster.requires_all), (2, 3, true));
    }

    #[test]
    fn a_command_line_without_coordinator_is_left_as_it_is() {
        let none = Environment::default();
        for line in [
            "bench-serving --rank 3 --world 4",
            "ab --a x -- --coordinator y",
            "launch --coordinator z",
        ] {
            let (rest, cluster) = take(line, &none).unwrap();
            assert_eq!((rest.join(" ").as_str(), cluster), (line, None));
        }
    }

    #[cfg(feature = "commands")]
    #[test]
    fn the_help_of_every_command_that_machines_can_share_says_how() {
        for line in [
            "ab --help",
            "ais_bench --help",
            "bench-embedding --help",
            "bench-serving --help",
            "evalscope perf --help",
            "noise --help",
            "run --help",
            "sglang.bench_serving --help",
            "gpu-box:8000 --help",
            "vllm bench serve --help",
        ] {
            let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
            let help = crate::commands::dispatch::parse(args, &Environment::default()).unwrap_err();
            assert!(help.is_help(), "{line}: {help}");
            let text = help.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            let words =
                "--coordinator nats://HOST:PORT --world N --rank R (servemark launch --help)";
            assert!(text.contains(words), "{line}");
        }
    }

    #[test]
    fn secrets_of_the_address_are_stronger_than_the_environment_and_not_shown() {
        let environment = Environment::default()
            .with_variable("NATS_TOKEN", "old")
            .with_variable("NATS_USER", "ann")
            .with_variable("NATS_PASSWORD", "p/w");
        let of = |address: &str| {
            let line = format!("x --coordinator {address} --world 1 --rank 0");
            take(&line, &environment).map(|(_, cluster)| cluster.unwrap())
        };
        let access = |cluster: ClusterArgs| (cluster.url, cluster.token, cluster.user);
        let user = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        let url = "nats://a:4222".to_owned();
        let plain = access(of("nats://a:4222/x").unwrap());
        assert_eq!(plain, (url.clone(), Some("old".to_owned()), user("ann", "p/w")));
        let token = access(of("nats://s3cret@a:4222/x").unwrap());
        assert_eq!(token, (url.clone(), Some("s3cret".to_owned()), None));
        let named = access(of("nats://bob:s3cret@a:4222").unwrap());
        assert_eq!(named, (url, None, user("bob", "s3cret")));
        let error = of("nats://bob:s3cret@a:4222/no.name").unwrap_err();
        assert!(error.contains("nats://a:4222/no.name") && !error.contains("s3cret"), "{error}");
        assert!(!format!("{:?}", of("nats://s3cret@a:4222").unwrap()).contains("s3cret"));
    }

    #[test]
    fn the_launcher_says_rank_and_world() {
        let launchers = [
            [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")],
            [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")],
            [("PMI_RANK", "1"), ("PMI_SIZE", "4")],
            [("RANK", "1"), ("WORLD_SIZE", "4")],
        ];
        for variables in launchers {
            let environment = variables
                .into_iter()
                .fold(Environment::default(), |all, (name, value)| all.with_variable(name, value));
            let (_, cluster) = take("x --coordinator a", &environment).unwrap();
            let cluster = cluster.unwrap();
            assert_eq!((cluster.rank, cluster.world.get()), (1, 4), "{variables:?}");
            let (_, cluster) = take("x --coordinator a --rank 0", &environment).unwrap();
            assert_eq!(cluster.unwrap().rank, 0, "a flag is stronger");
        }
        let slurm = Environment::default()
            .with_variable("SLURM_JOB_ID", "77")
            .with_variable("SLURM_STEP_ID", "2");
        let (_, cluster) = take("x --coordinator a --rank 0 --world 1", &slurm).unwrap();
        assert_eq!(cluster.unwrap().name, "slurm-77-2");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let none = Environment::default();
        let error = |line: &str| take(line, &none).unwrap_err();
        assert!(error("x --coordinator a --rank 0").contains("--world"));
        assert!(error("x --coordinator a --world 3").contains("--rank"));
        assert!(error("x --coordinator a --world 3 --rank 3").contains("0 to 2"));
        assert!(error("x --coordinator http://a --world 3 --rank 0").contains("nats://HOST:PORT"));
        assert!(error("x --coordinator nats://a/b.c --world 3 --rank 0").contains("letters"));
        assert!(error("x --coordinator a --world three --rank 0").contains("--world"));
    }
}
