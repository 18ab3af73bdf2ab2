//! The vectors of embeddings, serialised once for each of their forms.

use std::sync::{Arc, Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;

/// A cache of the vectors used so far.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    written: Mutex<Vec<(Form, Arc<str>)>>,
}

/// The properties that distinguish vectors; all vectors of one form are equal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Form {
    pub(super) dimensions: usize,
    pub(super) is_base64: bool,
}

impl Vectors {
    /// Returns the JSON of a vector.
    pub(super) fn find(&self, form: Form) -> Arc<str> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, vector)) = written.iter().find(|(known, _)| *known == form) {
            return Arc::clone(vector);
        }
        let vector: Arc<str> = form.json().into();
        if written.len() == MOST_KEPT {
            written.clear();
        }
        written.push((form, Arc::clone(&vector)));
        vector
    }
}

impl Form {
    fn json(self) -> String {
        let numbers = NUMBERS.into_iter().cycle().take(self.dimensions);
        if self.is_base64 {
            let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
            return json!(BASE64_STANDARD.encode(bytes)).to_string();
        }
        json!(numbers.collect::<Vec<_>>()).to_string()
    }
}

/// The default number of dimensions of a vector.
pub(super) const DIMENSIONS: u32 = NUMBERS.len() as u32;

const NUMBERS: [f32; 8] = [0.5, -0.25, 0.125, -0.5, 0.25, -0.125, 0.375, -0.375];

/// The largest number of forms to cache; a client rarely uses more than one.
const MOST_KEPT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_written_as_asked_for() {
        let vectors = Vectors::default();
        let form = |dimensions, is_base64| Form { dimensions, is_base64 };
        let text = |form| vectors.find(form);
        assert_eq!(&*text(form(3, false)), "[0.5,-0.25,0.125]");
        assert_eq!(&*text(form(1, true)), "\"AAAAPw==\"");
        assert_eq!(&*text(form(3, false)), "[0.5,-0.25,0.125]");
    }

    #[test]
    fn a_client_that_tries_them_all_fills_no_memory() {
        let vectors = Vectors::default();
        for dimensions in 0..100 {
            vectors.find(Form { dimensions, is_base64: false });
        }
        assert!(vectors.written.lock().unwrap().len() <= MOST_KEPT);
    }
}
