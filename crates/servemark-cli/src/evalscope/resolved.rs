//! The meaning of a command line by evalscope's rules between its flags.
//!
//! The order of the rules and the texts of their errors are evalscope 1.14.1's.

use servemark_backends::EvalscopeApi;
use servemark_core::JsonObject;
use servemark_datasets::{EvalscopeName, MaxTokens};
use servemark_pyjson as pyjson;

use super::args::{EvalscopeArgs, LoadArgs, PromptArgs, SamplingArgs, TargetArgs};
use super::url::Address;
use super::{search_rules, settings};
use crate::error::CliError;
use crate::nearest::did_you_mean;
use crate::number::at_least;

/// A command line after evalscope's rules were applied.
#[derive(Clone, Debug)]
pub(super) struct ResolvedArgs {
    pub(super) api: EvalscopeApi,
    pub(super) dataset: EvalscopeName,
    pub(super) address: Address,
    /// Whether prompts are sent as messages.
    pub(super) chat: bool,
    pub(super) max_tokens: MaxTokens,
    /// Settings of the data set (`--dataset-args`).
    pub(super) dataset_args: Option<JsonObject>,
    /// Number of requests that each run measures.
    pub(super) number: Vec<i64>,
    /// Number of requests in flight in each run; [`UNLIMITED`] alone in an open loop.
    pub(super) parallel: Vec<i64>,
    /// Requests per second in each run of an open loop. Otherwise the first one holds for all runs.
    pub(super) rate: Vec<f64>,
    /// Warnings for the user.
    pub(super) warnings: Vec<String>,
}

/// One run of a sweep. A `parallel` or `rate` of -1 means that there is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) number: i64,
    pub(super) parallel: i64,
    pub(super) rate: f64,
    /// Whether requests are sent regardless of how many are in flight.
    pub(super) is_open: bool,
}

impl ResolvedArgs {
    /// Applies the rules in evalscope's order.
    pub(super) fn of(args: &EvalscopeArgs) -> Result<Self, CliError> {
        let mut warnings = Vec::new();
        let max_tokens = max_tokens(&args.sampling.max_tokens)?;
        let old_settings = settings::old(args)?;
        check_workers(args)?;
        let dataset = dataset(&args.dataset.dataset)?;
        check_prefixes(&args.prompt, dataset)?;
        if args.target.model.is_none() && dataset != EvalscopeName::WorkloadTrace {
            return Err(CliError::Together("--model is required."));
        }
        let api = api(&args.target.api)?;
        let address = address(args, api, &mut warnings);
        let chat = is_chat(&args.prompt, &address);
        let address = for_token_ids(args, api, address, &mut warnings)?;
        let Sides { number, parallel, rate } = sides(args, dataset)?;
        search_rules::check(&args.sla)?;
        let dataset_args = settings::merged(args, old_settings, &mut warnings)?;
        Ok(Self {
            api,
            dataset,
            address,
            chat,
            max_tokens,
            dataset_args,
            number,
            parallel,
            rate,
            warnings,
        })
    }

    /// Returns whether the server is greeted before each run. A server whose API generates nothing
    /// is not greeted.
    pub(super) fn tests_connection(&self, args: &EvalscopeArgs) -> bool {
        !args.target.no_test_connection && self.api.generates()
    }

    /// Returns whether requests are sent at their recorded times.
    pub(super) fn replays(&self, args: &EvalscopeArgs) -> bool {
        self.dataset == EvalscopeName::WorkloadTrace && args.own_prompt().is_none()
    }

    /// Returns whether recorded requests become a part of other bodies. evalscope then does not
    /// find its own marks in them: it sends them all at once, warm-ups among the others.
    pub(super) fn keeps_marks(&self, args: &EvalscopeArgs) -> bool {
        let is_part = !self.api.generates() || args.prompt.query_template.is_some();
        self.replays(args) && is_part
    }

    /// Returns the runs. In an open loop there is one for each rate. Otherwise there is one for
    /// each number of requests in flight, and the first rate holds for all.
    pub(super) fn steps(&self) -> Vec<Step> {
        let is_open = self.parallel[0] == UNLIMITED;
        let step = |(index, &number): (usize, &i64)| {
            let (parallel, rate) = if is_open {
                (UNLIMITED, self.rate[index])
            } else {
                (self.parallel[index], self.rate[0])
            };
            Step { number, parallel, rate, is_open }
        };
        self.number.iter().enumerate().map(step).collect()
    }
}

impl Step {
    /// Returns the name of the run's folder, as evalscope forms it.
    pub(super) fn name(&self) -> String {
        let Self { number, parallel, rate, is_open } = self;
        if *is_open {
            return format!("rate_{}_number_{number}", pyjson::repr(*rate));
        }
        format!("parallel_{parallel}_number_{number}")
    }
}

/// Value that means that there is no limit.
pub(super) const UNLIMITED: i64 = -1;

fn max_tokens(given: &[i64]) -> Result<MaxTokens, CliError> {
    let fits = |tokens: i64| at_least(SamplingArgs::MAX_TOKENS, 0, tokens);
    let refuse =
        |why: &str| Err(CliError::Peer(format!("--max-tokens {why}, got {}", listed(given))));
    match *given {
        [tokens] => Ok(MaxTokens::Fixed(fits(tokens)?)),
        [least, most] if least > most => refuse("range min must be <= max"),
        [least, _] if least < 0 => refuse("range values must be >= 0"),
        [least, most] => {
            let (least, most) = (fits(least)?, fits(most)?);
            Ok(MaxTokens::Between { least, most, tested: false })
        }
        _ => refuse("accepts 1 or 2 values [min max]"),
    }
}

fn check_workers(args: &EvalscopeArgs) -> Result<(), CliError> {
    match args.client.num_workers {
        Some(workers) if workers < 0 => Err(CliError::Together("--num-workers must be >= 0")),
        _ => Ok(()),
    }
}

fn dataset(name: &str) -> Result<EvalscopeName, CliError> {
    name.parse().map_err(|error| {
        let hint = did_you_mean(name, EvalscopeName::ALL.map(EvalscopeName::as_str));
        CliError::Peer(format!(
            "Dataset plugin '{name}' is not registered. --dataset: {error}{hint}"
        ))
    })
}

fn check_prefixes(args: &PromptArgs, dataset: EvalscopeName) -> Result<(), CliError> {
    let _: i64 = at_least(PromptArgs::PREFIX_COUNT, 1, args.prefix_count)?;
    if args.prefix_count <= 1 {
        return Ok(());
    }
    CliError::first_broken([
        (
            args.prompt.is_some(),
            "--prefix-count > 1 conflicts with --prompt, which bypasses dataset generation.",
        ),
        (
            dataset != EvalscopeName::Random,
            "--prefix-count > 1 is supported only with --dataset random.",
        ),
        (args.prefix_length <= 0, "--prefix-count > 1 requires --prefix-length > 0."),
    ])
}

fn api(name: &str) -> Result<EvalscopeApi, CliError> {
    if name.starts_with("local") {
        return Err(CliError::not_built(format!("--api {name}")));
    }
    EvalscopeApi::of(name).ok_or_else(|| {
        let known: Vec<&str> =
            EvalscopeApi::ALL.iter().flat_map(|api| api.names()).copied().collect();
        let hint = did_you_mean(name, known.iter().copied());
        CliError::setting(
            TargetArgs::API,
            format!("must be one of {}, not {name}{hint}", known.join(", ")),
        )
    })
}

fn address(args: &EvalscopeArgs, api: EvalscopeApi, warnings: &mut Vec<String>) -> Address {
    let (address, warning) = Address::of(&args.target.url).completed(api);
    warnings.extend(warning);
    if !args.dataset.dataset.starts_with("speed_benchmark") {
        return address;
    }
    let (address, warning) = address.for_completions();
    warnings.extend(warning);
    address
}

/// Returns whether prompts are messages: what the flags say, else whether the URL ends as that of a
/// chat. The URL must not yet be changed for token ids.
fn is_chat(args: &PromptArgs, address: &Address) -> bool {
    match (args.apply_chat_template, args.no_apply_chat_template) {
        (true, _) => true,
        (_, true) => false,
        _ => address.is_chat(),
    }
}

fn for_token_ids(
    args: &EvalscopeArgs,
    api: EvalscopeApi,
    address: Address,
    warnings: &mut Vec<String>,
) -> Result<Address, CliError> {
    match api {
        _ if !args.sampling.tokenize_prompt => Ok(address),
        EvalscopeApi::OpenaiResponses => Err(CliError::Together(
            "--tokenize-prompt is not supported with the OpenAI Responses API.",
        )),
        _ if !args.has_tokenizer() => {
            Err(CliError::Together("--tokenizer-path is required when --tokenize-prompt is set."))
        }
        _ if address.is_chat() => {
            let changed = "--tokenize-prompt is set: URL auto-adjusted to completions endpoint";
            warnings.push(changed.to_owned());
            Ok(address.for_token_ids())
        }
        _ => Ok(address),
    }
}

/// Lists of a sweep, whose values are combined by position.
struct Sides {
    number: Vec<i64>,
    parallel: Vec<i64>,
    rate: Vec<f64>,
}

fn sides(args: &EvalscopeArgs, dataset: EvalscopeName) -> Result<Sides, CliError> {
    let LoadArgs { number, parallel, rate, open_loop, .. } = args.load.clone();
    let number = number.unwrap_or_else(|| vec![USUAL_NUMBER]);
    if args.turns.multi_turn && open_loop {
        return Err(CliError::Together(CONVERSATIONS_WAIT));
    }
    if open_loop {
        check_open(&number, &rate, dataset)?;
        return Ok(Sides { number, parallel: vec![UNLIMITED], rate });
    }
    check_closed(&number, &parallel)?;
    Ok(Sides { number, parallel, rate })
}

fn check_closed(number: &[i64], parallel: &[i64]) -> Result<(), CliError> {
    if number.len() != parallel.len() {
        return Err(CliError::Peer(format!(
            "The length of number and parallel should be the same, but got number: {} and \
             parallel: {}",
            listed(number),
            listed(parallel)
        )));
    }
    if parallel.iter().any(|&parallel| parallel <= 0) {
        let got = listed(parallel);
        return Err(CliError::Peer(format!("--parallel values must be > 0, but got: {got}")));
    }
    Ok(())
}

fn check_open(number: &[i64], rate: &[f64], dataset: EvalscopeName) -> Result<(), CliError> {
    let rates = listed(&rate.iter().copied().map(pyjson::repr).collect::<Vec<_>>());
    if number.len() != rate.len() {
        return Err(CliError::Peer(format!(
            "In open-loop mode the length of --number and --rate must match, but got number: {} \
             and rate: {rates}",
            listed(number)
        )));
    }
    let has_own_times = dataset == EvalscopeName::WorkloadTrace;
    if !has_own_times && rate.iter().any(|&rate| rate <= 0.0) {
        return Err(CliError::Peer(format!(
            "In open-loop mode all --rate values must be > 0, but got: {rates}"
        )));
    }
    Ok(())
}

/// Formats a list as Python does.
fn listed<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", items.join(", "))
}

const USUAL_NUMBER: i64 = 1000;

const CONVERSATIONS_WAIT: &str = "--multi-turn is not supported in open-loop mode: turn N cannot be dispatched before the \
     response of turn N-1 has been appended to the conversation context, which contradicts \
     open-loop scheduling (dispatch independent of in-flight requests).";
