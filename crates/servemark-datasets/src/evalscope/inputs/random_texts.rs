//! Texts of randomly drawn tokens.
//!
//! The draws for a text depend on how the previous text was encoded, so texts are made
//! sequentially.

use servemark_core::{DatasetError, DrawContext, Prompt, Task, Tokenizer, TokenizerError};
use servemark_rng::NumpyRandom;

use super::{EvalscopeRandomEmbeddingSpec, EvalscopeRandomRerankSpec, EvalscopeSpec, RequestDraft};
use crate::alphabet::Alphabet;
use crate::fitting::{Fitted, Fitter};

impl EvalscopeRandomEmbeddingSpec {
    pub(in crate::evalscope) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        drafts(of, count, context, |writer, numpy| {
            let Some(batch) = self.batch else {
                let text = writer.write(numpy)?;
                let tokens = text.tokens();
                return Ok(RequestDraft::new(text.text, tokens));
            };
            let texts = (0..batch.get()).map(|_| writer.write(numpy));
            let texts = texts.collect::<Result<Vec<_>, TokenizerError>>()?;
            let tokens = texts.iter().map(Fitted::tokens).sum();
            Ok(RequestDraft::new(Prompt::Texts(into_texts(texts)), tokens))
        })
    }
}

impl EvalscopeRandomRerankSpec {
    pub(in crate::evalscope) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        drafts(of, count, context, |writer, numpy| self.rank(writer, numpy))
    }

    /// Returns a query and documents that are longer by `length_ratio`.
    #[expect(clippy::cast_sign_loss, reason = "what is below one counts as one")]
    fn rank(
        &self,
        writer: &Writer<'_>,
        numpy: &mut NumpyRandom,
    ) -> Result<RequestDraft, TokenizerError> {
        let length = writer.length(numpy);
        let document = ((length as f64 * self.length_ratio) as usize).max(1);
        let query = writer.text(length, numpy)?;
        let documents = (0..self.documents).map(|_| writer.text(document, numpy));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let tokens = query.tokens() + documents.iter().map(Fitted::tokens).sum::<u32>();
        let prompt = Prompt::Ranking { query: query.text, documents: into_texts(documents) };
        Ok(RequestDraft::new(prompt, tokens))
    }
}

/// Makes `count` requests, one after the other.
fn drafts(
    of: &EvalscopeSpec,
    count: usize,
    context: &mut DrawContext<'_>,
    draft: impl Fn(&Writer<'_>, &mut NumpyRandom) -> Result<RequestDraft, TokenizerError>,
) -> Result<Vec<RequestDraft>, DatasetError> {
    let writer = Writer::new(of, context)?;
    let task = Task::begin(context.progress, "making texts", count as u64);
    let numpy = &mut context.random.numpy;
    let one = |_| {
        task.advance(1);
        Ok(draft(&writer, numpy)?)
    };
    (0..count).map(one).collect()
}

fn into_texts(fitted: Vec<Fitted>) -> Vec<String> {
    fitted.into_iter().map(|fitted| fitted.text).collect()
}

/// Generator of texts made of randomly drawn tokens.
struct Writer<'a> {
    tokenizer: &'a dyn Tokenizer,
    /// Tokens that texts are made of.
    alphabet: Alphabet,
    /// Tokens appended to texts that encode to fewer tokens than required.
    filler: Alphabet,
    lengths: (i64, i64),
}

impl<'a> Writer<'a> {
    fn new(of: &EvalscopeSpec, context: &DrawContext<'a>) -> Result<Self, DatasetError> {
        let tokenizer = of.tokenizer(context)?;
        let all = tokenizer.token_ids().len() as u32;
        let (one, other) = (i64::from(of.shortest).max(1), i64::from(of.longest).max(1));
        Ok(Self {
            tokenizer,
            alphabet: Alphabet::of(tokenizer)?,
            filler: Alphabet::without(all, tokenizer.special_ids())?,
            lengths: (one.min(other), one.max(other)),
        })
    }

    /// Returns a text of a drawn length.
    fn write(&self, numpy: &mut NumpyRandom) -> Result<Fitted, TokenizerError> {
        let length = self.length(numpy);
        self.text(length, numpy)
    }

    fn length(&self, numpy: &mut NumpyRandom) -> usize {
        let (least, most) = self.lengths;
        numpy.randint(least, most + 1).unwrap_or(least).unsigned_abs() as usize
    }

    fn text(&self, tokens: usize, numpy: &mut NumpyRandom) -> Result<Fitted, TokenizerError> {
        let ids = self.alphabet.draw(tokens, numpy);
        let draw = |count| self.filler.draw(count, numpy);
        Fitter { tokenizer: self.tokenizer, draw }.fit(ids, tokens)
    }
}
