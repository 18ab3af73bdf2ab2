//! The dialect of vLLM 0.33.0's converter of plain texts
//! (`python -m vllm.benchmarks.datasets.create_txt_slices_dataset`).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use servemark_datasets::{TextSlicesSpec, VllmLengths};
use servemark_hub::HubSettings;
use servemark_tokenizer::TokenizerSpec;

use self::args::SlicesArgs;
use super::range_ratio::spreads;
use crate::argparse::{Flexible, refuse_missing, texts};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::number::at_least;

/// Parsed command line of the converter: prompts that are cut out of a text.
#[derive(Clone, Debug)]
pub struct TextSlices {
    /// The text, a file or an address, and how it is cut.
    pub spec: TextSlicesSpec,
    /// Number of prompts.
    pub count: usize,
    /// Tokenizer that defines the lengths.
    pub tokenizer: TokenizerSpec,
    /// Output file.
    pub output: PathBuf,
    /// Settings for downloads of the tokenizer and the text.
    pub hub: HubSettings,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Whether one document of JSON is printed.
    pub json: bool,
}

/// Parses the arguments that follow the module's name.
///
/// ```
/// use servemark_cli::{Environment, vllm};
///
/// let args = ["--input", "book.txt", "--output", "book.jsonl", "--tokenizer", "gpt2"];
/// let slices = vllm::text_slices(args.map(Into::into), &Environment::default())?;
/// assert_eq!(slices.count, 1000);
/// # Ok::<(), servemark_cli::UsageError>(())
/// ```
pub fn text_slices(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<TextSlices, UsageError> {
    let refuse = |error| UsageError::refused(PROGRAM, error);
    let flexible = texts(args).and_then(Flexible::take_back).map_err(refuse)?;
    let (args, given) = flexible.typed::<SlicesArgs>(PROGRAM)?;
    given.reading.refuse_leftovers().map_err(refuse)?;
    understand(args, flexible.warnings, environment).map_err(refuse)
}

/// Returns the command with its flags.
#[cfg(test)]
pub(crate) fn clap_command() -> clap::Command {
    <SlicesArgs as clap::CommandFactory>::command()
}

fn understand(
    args: SlicesArgs,
    warnings: Vec<String>,
    environment: &Environment,
) -> Result<TextSlices, CliError> {
    let needed = [
        (SlicesArgs::INPUT, &args.input),
        (SlicesArgs::OUTPUT, &args.output),
        (SlicesArgs::TOKENIZER, &args.tokenizer),
    ];
    refuse_missing(needed.map(|(flag, given)| (flag, given.is_some())))?;
    let mut spec = TextSlicesSpec::new(args.input.clone().unwrap_or_default());
    spec.lengths = lengths(&args)?;
    spec.seed = at_least(SlicesArgs::SEED, 0, args.seed)?;
    Ok(TextSlices {
        spec,
        count: at_least(SlicesArgs::NUM_PROMPTS, 0, args.num_prompts)?,
        tokenizer: TokenizerSpec::new(args.tokenizer.unwrap_or_default()),
        output: args.output.unwrap_or_default().into(),
        hub: environment.hub(),
        warnings,
        json: args.json,
    })
}

fn lengths(args: &SlicesArgs) -> Result<VllmLengths, CliError> {
    let spreads = spreads(SlicesArgs::RANGE_RATIO, &args.range_ratio)?;
    let mut lengths = VllmLengths {
        input_tokens: at_least(SlicesArgs::INPUT_LEN, 0, args.input_len)?,
        output_tokens: at_least(SlicesArgs::OUTPUT_LEN, 0, args.output_len)?,
        ..VllmLengths::default()
    };
    (lengths.input_spread, lengths.output_spread) = (spreads.input, spreads.output);
    Ok(lengths)
}

const PROGRAM: &str = "vllm.benchmarks.datasets.create_txt_slices_dataset";

mod args {
    use super::Parser;
    use crate::argparse::Flag;
    use crate::own::{PLAIN_EXIT_CODES, notes};
    use crate::python;

    const EXAMPLE: &str = "servemark python -m \\\n    \
                           vllm.benchmarks.datasets.create_txt_slices_dataset \\\n    \
                           --input book.txt --output book.jsonl --tokenizer org/model";

    /// Cut a text into prompts for --dataset-name custom
    #[derive(Clone, Debug, Parser)]
    #[command(disable_version_flag = true, args_override_self = true, max_term_width = 100,
              after_help = notes(&[EXAMPLE], PLAIN_EXIT_CODES))]
    pub(super) struct SlicesArgs {
        /// The text: a file or an address
        #[arg(long, value_name = "PATH")]
        pub(super) input: Option<String>,
        /// The file that is written, a JSON object on each line
        #[arg(long, value_name = "PATH")]
        pub(super) output: Option<String>,
        /// The folder or the name of the tokenizer
        #[arg(long, value_name = "PATH")]
        pub(super) tokenizer: Option<String>,
        /// Number of prompts to cut
        #[arg(long, value_name = "N", default_value = "1000", value_parser = python::int)]
        pub(super) num_prompts: i64,
        /// Length of a prompt in tokens
        #[arg(long, value_name = "TOKENS", default_value = "1024", value_parser = python::int)]
        pub(super) input_len: i64,
        /// Length of an output in tokens
        #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = python::int)]
        pub(super) output_len: i64,
        /// Maximum deviation of lengths from the given ones, as a share of them below 1, or one
        /// share each: {"input": 0.3, "output": 0.5}
        #[arg(long, value_name = "SHARE", default_value = "0.0")]
        pub(super) range_ratio: String,
        /// Seed of positions and lengths
        #[arg(long, value_name = "N", default_value = "0", value_parser = python::int)]
        pub(super) seed: i64,
        /// Allow code that comes with a tokenizer: no effect, none is ever run here
        #[arg(long)]
        pub(super) trust_remote_code: bool,
        /// Print one document of JSON with the written file
        #[arg(long)]
        pub(super) json: bool,
    }

    impl SlicesArgs {
        pub(super) const INPUT: Flag = Flag::new("--input");
        pub(super) const INPUT_LEN: Flag = Flag::new("--input-len");
        pub(super) const NUM_PROMPTS: Flag = Flag::new("--num-prompts");
        pub(super) const OUTPUT: Flag = Flag::new("--output");
        pub(super) const OUTPUT_LEN: Flag = Flag::new("--output-len");
        pub(super) const RANGE_RATIO: Flag = Flag::new("--range-ratio");
        pub(super) const SEED: Flag = Flag::new("--seed");
        pub(super) const TOKENIZER: Flag = Flag::new("--tokenizer");
    }
}

#[cfg(test)]
mod tests {
    use servemark_datasets::Spread;

    use super::*;
    use crate::mirror::{mirrors, recorded};

    const NEEDED: &str = "--input a.txt --output a.jsonl --tokenizer gpt2";

    fn read(line: &str) -> Result<TextSlices, UsageError> {
        text_slices(line.split_whitespace().map(Into::into), &Environment::default())
    }

    #[test]
    fn every_flag_is_the_peers() {
        let flags = &recorded("vllm", "flags.json")["create_txt_slices_dataset"];
        mirrors::<SlicesArgs>(flags.as_array().unwrap().clone());
    }

    #[test]
    fn lengths_are_understood() {
        let line =
            r#"--num_prompts 7 --input-len 9 --range-ratio {"input":0.5,"output":0} --seed 3"#;
        let slices = read(&format!("{NEEDED} {line}")).unwrap();
        assert_eq!((slices.count, slices.spec.seed), (7, 3));
        assert_eq!(slices.spec.lengths.input_tokens, 9);
        assert_eq!(slices.spec.lengths.output_spread, Spread::default());
        assert_ne!(slices.spec.lengths.input_spread, Spread::default());
        assert_eq!(slices.output, PathBuf::from("a.jsonl"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (line, message) in [
            ("--output a", "the following arguments are required: --input, --tokenizer"),
            (&format!("{NEEDED} --seed -1"), "--seed must be 0 or more, not -1"),
            (&format!("{NEEDED} extra"), "unrecognized arguments: extra"),
            (
                &format!("{NEEDED} --range-ratio x"),
                "--range-ratio must be a number or {\"input\": NUMBER, \"output\": NUMBER}, not 'x'",
            ),
        ] {
            assert_eq!(read(line).unwrap_err().cause().unwrap().to_string(), message);
        }
    }
}
