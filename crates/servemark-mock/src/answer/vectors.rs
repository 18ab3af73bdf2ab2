//! The vectors of embeddings, written down once for each of their forms.

use std::sync::{Arc, Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;

/// The vectors that were needed so far.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    written: Mutex<Vec<(Form, Arc<str>)>>,
}

/// What vectors differ in. All of one form are the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Form {
    pub(super) dimensions: usize,
    pub(super) is_base64: bool,
}

impl Vectors {
    /// A vector's JSON.
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

/// How long a vector is when the request does not say.
pub(super) const DIMENSIONS: u32 = NUMBERS.len() as u32;

const NUMBERS: [f32; 8] = [0.5, -0.25, 0.125, -0.5, 0.25, -0.125, 0.375, -0.375];

/// A client uses one form, or tries some.
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
