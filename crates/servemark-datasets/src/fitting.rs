//! Texts of so many tokens.
//!
//! Ids that are put one behind the other and written as text are rarely read back as the same ids,
//! or as many. So a text is written and read again until it has as many as it should: what is too
//! long is cut, what is too short gets further ids, which are drawn. Where nothing is drawn, all
//! cores work; the draws are made in the order of the texts.

use servemark_core::{DatasetError, Progress, SpecialTokens, Tokenizer, TokenizerError, parallel};
use servemark_rng::Pcg64;

/// A text and the ids that it is read back as.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fitted {
    pub(crate) text: String,
    pub(crate) ids: Vec<u32>,
}

impl Fitted {
    /// How many tokens it has.
    pub(crate) fn tokens(&self) -> u32 {
        self.ids.len() as u32
    }
}

/// Makes texts that fit, with a tokenizer and a source of further ids.
pub(crate) struct Fitter<'a, D> {
    pub(crate) tokenizer: &'a dyn Tokenizer,
    /// Draws so many ids.
    pub(crate) draw: D,
}

impl<D: FnMut(usize) -> Vec<u32>> Fitter<'_, D> {
    /// A text of `target` tokens that begins with these ids.
    pub(crate) fn fit(&mut self, ids: Vec<u32>, target: usize) -> Result<Fitted, TokenizerError> {
        let begun = Fitting::new(ids, target).until_short(self.tokenizer)?;
        self.finish(begun)
    }

    /// A text for each item, whose ids and length `begin` gives.
    pub(crate) fn fit_all<T: Sync>(
        &mut self,
        items: &[T],
        progress: &dyn Progress,
        begin: impl Fn(&T) -> (Vec<u32>, usize) + Sync,
    ) -> Result<Vec<Fitted>, DatasetError> {
        let begun = begin_all(self.tokenizer, items, progress, begin);
        let done = begun.into_iter().map(|begun| self.finish(begun?));
        Ok(done.collect::<Result<_, TokenizerError>>()?)
    }

    /// A text that was begun.
    pub(crate) fn finish(&mut self, begun: Progressed) -> Result<Fitted, TokenizerError> {
        let mut now = begun;
        loop {
            match now {
                Progressed::Done(fitted) => return Ok(fitted),
                Progressed::Short(fitting) => {
                    let further = (self.draw)(fitting.target - fitting.made.ids.len());
                    now = fitting.extended(further).until_short(self.tokenizer)?;
                }
            }
        }
    }
}

/// A text for each item as far as it comes without draws. Each is to be finished in its turn.
pub(crate) fn begin_all<T: Sync>(
    tokenizer: &dyn Tokenizer,
    items: &[T],
    progress: &dyn Progress,
    begin: impl Fn(&T) -> (Vec<u32>, usize) + Sync,
) -> Vec<Result<Progressed, TokenizerError>> {
    parallel::map("making prompts", items, progress, |item| {
        let (ids, target) = begin(item);
        Fitting::new(ids, target).until_short(tokenizer)
    })
}

/// A text that is being made.
pub(crate) struct Fitting {
    made: Fitted,
    target: usize,
    tries: u32,
}

/// How far a text has come.
pub(crate) enum Progressed {
    /// It fits, or it was tried often enough.
    Done(Fitted),
    /// It is too short.
    Short(Fitting),
}

impl Fitting {
    fn new(ids: Vec<u32>, target: usize) -> Self {
        Self { made: Fitted { text: String::new(), ids }, target, tries: TRIES }
    }

    /// Goes on until further ids are needed, or none are.
    fn until_short(mut self, tokenizer: &dyn Tokenizer) -> Result<Progressed, TokenizerError> {
        loop {
            self.made.text = tokenizer.decode(&self.made.ids)?;
            self.made.ids = tokenizer.encode(&self.made.text, SpecialTokens::Omit)?;
            let found = self.made.ids.len();
            if self.tries == 0 || found == self.target {
                return Ok(Progressed::Done(self.made));
            }
            self.tries -= 1;
            if found < self.target {
                return Ok(Progressed::Short(self));
            }
            self.made.ids.truncate(self.target);
        }
    }

    fn extended(mut self, further: Vec<u32>) -> Self {
        self.made.ids.extend(further);
        self
    }
}

/// Draws so many ids of a vocabulary.
pub(crate) fn ids_of(random: &mut Pcg64, vocabulary: u32, count: usize) -> Vec<u32> {
    as_ids(random.integers_vec(0, vocabulary.into(), count))
}

/// Drawn numbers as ids; none of an empty vocabulary.
pub(crate) fn as_ids(drawn: Option<Vec<i64>>) -> Vec<u32> {
    drawn.unwrap_or_default().into_iter().map(|id| id.unsigned_abs() as u32).collect()
}

/// How often a text is corrected.
const TRIES: u32 = 10;
