//! Texts of an exact token count.
//!
//! Encoding the decoded text of arbitrary ids rarely gives back the same ids, or the same number of
//! them. A text is therefore decoded and encoded repeatedly until its token count is right: a
//! longer text is cut, and a shorter one is extended with newly drawn ids. Steps without draws run
//! on all cores; draws are made in the order of the texts.

use servemark_core::{DatasetError, Progress, SpecialTokens, Tokenizer, TokenizerError, parallel};
use servemark_rng::Pcg64;

/// A text and the ids that it encodes to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fitted {
    pub(crate) text: String,
    pub(crate) ids: Vec<u32>,
}

impl Fitted {
    /// Returns the number of tokens.
    pub(crate) fn tokens(&self) -> u32 {
        self.ids.len() as u32
    }
}

/// Makes texts of a target token count from a tokenizer and a source of additional ids.
pub(crate) struct Fitter<'a, D> {
    pub(crate) tokenizer: &'a dyn Tokenizer,
    /// Draws the given number of ids.
    pub(crate) draw: D,
}

impl<D: FnMut(usize) -> Vec<u32>> Fitter<'_, D> {
    /// Returns a text of `target` tokens that begins with `ids`.
    pub(crate) fn fit(&mut self, ids: Vec<u32>, target: usize) -> Result<Fitted, TokenizerError> {
        let begun = Fitting::new(ids, target).until_short(self.tokenizer)?;
        self.finish(begun)
    }

    /// Returns a text for each item; `begin` gives its first ids and its target token count.
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

    /// Completes a text that [`begin_all`] started, drawing ids as needed.
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

/// Starts a text for each item and proceeds as far as possible without draws. The caller finishes
/// the texts in order.
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

/// A text that is being fitted.
pub(crate) struct Fitting {
    made: Fitted,
    target: usize,
    tries: u32,
}

/// State of a text.
pub(crate) enum Progressed {
    /// The text fits, or all attempts are used up.
    Done(Fitted),
    /// The text is too short and needs additional ids.
    Short(Fitting),
}

impl Fitting {
    fn new(ids: Vec<u32>, target: usize) -> Self {
        Self { made: Fitted { text: String::new(), ids }, target, tries: TRIES }
    }

    /// Repeats decoding and encoding until the text fits, more ids are needed or attempts run out.
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

/// Draws `count` ids below `vocabulary`.
pub(crate) fn ids_of(random: &mut Pcg64, vocabulary: u32, count: usize) -> Vec<u32> {
    as_ids(random.integers_vec(0, vocabulary.into(), count))
}

/// Converts drawn numbers to ids; `None` (an empty vocabulary) gives no ids.
pub(crate) fn as_ids(drawn: Option<Vec<i64>>) -> Vec<u32> {
    drawn.unwrap_or_default().into_iter().map(|id| id.unsigned_abs() as u32).collect()
}

/// Maximum number of corrections per text.
const TRIES: u32 = 10;
