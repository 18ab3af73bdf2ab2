//! Prompts of an exploration: passages of a bundled text, each with a beginning of its own.

use servemark_core::{Dataset, DatasetError, DrawContext, Sample, Session};

/// Data set of passages of a bundled text, drawn from the run's seed.
///
/// Each prompt begins with a number that no other prompt has, so that no prefix cache contains it.
#[derive(Clone, Debug)]
pub(super) struct Passages {
    /// Number of words of a passage, about: passages consist of whole lines.
    pub(super) words: usize,
    /// Maximum number of output tokens of each request.
    pub(super) output_tokens: u32,
}

/// Name of the data set in plans and reports.
pub(super) const NAME: &str = "bundled passages";

impl Dataset for Passages {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let lines: Vec<&str> = TEXT.lines().collect();
        let random = &mut context.random.python;
        let mut session = |_| {
            let line = random.randbelow(lines.len() as u64).unwrap_or_default();
            let number = random.getrandbits(64);
            let prompt = self.prompt(&lines, usize::try_from(line).unwrap_or_default(), number);
            let words = u32::try_from(prompt.split_whitespace().count()).unwrap_or(u32::MAX);
            Session::from(Sample::new(prompt, words, self.output_tokens))
        };
        Ok((0..count).map(&mut session).collect())
    }
}

impl Passages {
    /// Returns the prompt whose passage begins at a line; after the last line the text goes on with
    /// the first.
    fn prompt(&self, lines: &[&str], first: usize, number: u64) -> String {
        let mut prompt = format!("[{number:016x}] Explain this passage line by line.\n");
        let mut words = 0;
        for line in lines.iter().cycle().skip(first) {
            if words >= self.words {
                break;
            }
            prompt.push('\n');
            prompt.push_str(line);
            words += line.split_whitespace().count();
        }
        prompt
    }
}

/// 280 lines of Shakespeare's sonnets, which are in the public domain.
const TEXT: &str = include_str!("sonnets.txt");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use servemark_core::{NoProgress, NoTokenizer};
    use servemark_rng::RandomState;

    use super::*;

    fn prompts(words: usize, seed: u64) -> Vec<String> {
        let mut random = RandomState::seeded(seed);
        let mut context = DrawContext::new(&NoTokenizer, &mut random, &NoProgress);
        let sessions = Passages { words, output_tokens: 8 }.draw(300, &mut context).unwrap();
        sessions.iter().map(|session| session.first.prompt.text().unwrap().into_owned()).collect()
    }

    #[test]
    fn no_two_prompts_begin_alike_and_all_have_the_length() {
        let prompts = prompts(150, 1);
        let heads: BTreeSet<&str> = prompts.iter().map(|prompt| &prompt[..18]).collect();
        assert_eq!(heads.len(), 300);
        for prompt in &prompts {
            let words = prompt.split_whitespace().count();
            assert!((150..180).contains(&words), "{words} words: {prompt}");
        }
    }

    #[test]
    fn a_seed_gives_the_prompts_again_and_another_one_others() {
        assert_eq!(prompts(20, 7), prompts(20, 7));
        assert_ne!(prompts(20, 7), prompts(20, 8));
    }
}
