//! Grouping of drawn texts into requests that ask for several answers at once.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, Prompt, Sample, Session};

/// How drawn texts are grouped into requests.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// Each text is a request of its own.
    #[default]
    Single,
    /// A request has this number of texts, and each is answered separately.
    Texts(NonZeroUsize),
    /// A request has one text as the query and the given number of texts as documents to rank.
    Ranking {
        /// Number of documents per query.
        documents: NonZeroUsize,
    },
}

impl Grouping {
    /// Returns the number of drawn texts per request.
    pub fn texts(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Texts(texts) => texts.get(),
            Self::Ranking { documents } => documents.get() + 1,
        }
    }

    /// Returns the number of answers that a request asks for.
    pub fn items(self) -> usize {
        self.texts() - self.queries()
    }

    /// Returns whether each text is a request of its own.
    pub fn is_single(&self) -> bool {
        *self == Self::Single
    }

    /// Groups sessions into requests, in their order. The last request may be smaller; a query
    /// without a document is left out.
    pub fn group(self, sessions: Vec<Session>) -> Result<Vec<Session>, DatasetError> {
        if self.is_single() {
            return Ok(sessions);
        }
        let groups = sessions.chunks(self.texts());
        let whole = groups.filter(|group| group.len() > self.queries());
        whole.map(|group| self.join(group)).collect()
    }

    fn queries(self) -> usize {
        usize::from(matches!(self, Self::Ranking { .. }))
    }

    /// Joins several sessions into one request. A ranking server reads the query with each
    /// document, so the query's tokens count once per document.
    fn join(self, group: &[Session]) -> Result<Session, DatasetError> {
        let mut texts = group.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let first = &group[0].first;
        let mut tokens =
            group.iter().map(|one| one.first.prompt_tokens).fold(0, u32::saturating_add);
        let prompt = match self {
            Self::Ranking { .. } => {
                let documents = texts.split_off(1);
                let repeats = u32::try_from(documents.len() - 1).unwrap_or(u32::MAX);
                tokens = tokens.saturating_add(first.prompt_tokens.saturating_mul(repeats));
                Prompt::Ranking { query: texts.remove(0), documents }
            }
            Self::Single | Self::Texts(_) => Prompt::Texts(texts),
        };
        let (extra_body, headers) = (first.extra_body.clone(), first.headers.clone());
        let mut sample = Sample::new(prompt, tokens, first.output_tokens);
        (sample.extra_body, sample.headers) = (extra_body, headers);
        let mut session = Session::from(sample);
        session.begins = group[0].begins;
        Ok(session)
    }
}

fn text(session: &Session) -> Result<String, DatasetError> {
    let text = session.first.prompt.text().filter(|_| session.follow_ups.is_empty());
    text.map(Into::into).ok_or_else(|| {
        let what = "only single texts can be put together into one request; this data set gives \
                    conversations or token ids";
        DatasetError::Settings(what.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(count: u32) -> Vec<Session> {
        let sample = |number| Sample::new(format!("text {number}"), number + 1, 0);
        (0..count).map(|number| sample(number).into()).collect()
    }

    fn grouped(grouping: Grouping, count: u32) -> Vec<(Prompt, u32)> {
        let groups = grouping.group(sessions(count)).unwrap();
        groups.into_iter().map(|group| (group.first.prompt, group.first.prompt_tokens)).collect()
    }

    fn texts(numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|number| format!("text {number}")).collect()
    }

    #[test]
    fn texts_are_put_together_in_their_order() {
        let two = Grouping::Texts(NonZeroUsize::new(2).unwrap());
        assert_eq!(
            grouped(two, 3),
            [(Prompt::Texts(texts(&[0, 1])), 3), (Prompt::Texts(texts(&[2])), 3)]
        );
    }

    #[test]
    fn the_first_of_a_ranking_is_its_query_and_is_read_with_each_document() {
        let two = Grouping::Ranking { documents: NonZeroUsize::new(2).unwrap() };
        let ranking = |query: u32, documents: &[u32]| Prompt::Ranking {
            query: format!("text {query}"),
            documents: texts(documents),
        };
        assert_eq!(
            grouped(two, 5),
            [(ranking(0, &[1, 2]), 1 + 2 + 1 + 3), (ranking(3, &[4]), 4 + 5)]
        );
        assert_eq!(grouped(two, 4).len(), 1, "a query alone ranks nothing");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let ids = Session::from(Sample::new(vec![1, 2], 2, 0));
        let error = Grouping::Texts(NonZeroUsize::MIN).group(vec![ids]).unwrap_err();
        assert!(error.to_string().contains("token ids"), "{error}");
    }
}
