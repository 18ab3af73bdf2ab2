//! Token counts in the forms in which servers write them.
//!
//! The protocols specify JSON integers. Some gateways send `8.0` or `"8"`, and an invalid count
//! must not fail an answer that is otherwise complete.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use servemark_core::{OddCount, Sink};

/// A server's token count in any form. `null` and a missing field are no count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Count {
    tokens: Option<u32>,
    /// The value as it was written, if it is not a JSON integer in the range of a count.
    odd: Option<Box<str>>,
}

impl Count {
    /// Returns the number of tokens, if the value is a whole number.
    pub(crate) fn tokens(&self) -> Option<u32> {
        self.tokens
    }

    /// Reports a value that is not a JSON integer to `out`.
    pub(crate) fn report(&self, field: &'static str, out: &mut dyn Sink) {
        if let Some(value) = &self.odd {
            out.odd_count(OddCount::new(field, value, self.tokens.is_some()));
        }
    }

    fn odd(tokens: Option<u32>, value: impl Into<Box<str>>) -> Self {
        Self { tokens, odd: Some(value.into()) }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token count")
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count::default())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Count, E> {
        Ok(match u32::try_from(value) {
            Ok(tokens) => Count { tokens: Some(tokens), odd: None },
            Err(_) => Count::odd(None, value.to_string()),
        })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Count, E> {
        Ok(Count::odd(None, value.to_string()))
    }

    #[expect(clippy::cast_sign_loss, reason = "what is negative is not taken")]
    fn visit_f64<E>(self, value: f64) -> Result<Count, E> {
        let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        Ok(Count::odd(is_whole.then_some(value as u32), format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Count, E> {
        let is_digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let tokens = if is_digits { value.parse().ok() } else { None };
        let debug: String = value.chars().take(LONGEST_SHOWN).collect();
        Ok(Count::odd(tokens, format!("{debug:?}")))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Count, E> {
        Ok(Count::odd(None, value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count::odd(None, "[...]"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count::odd(None, "{...}"))
    }
}

/// The largest number of characters that are kept of a string in place of a count.
const LONGEST_SHOWN: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, tokens: Option<u32>, odd: Option<&str>) {
        let count: Count = serde_json::from_str(json).unwrap();
        assert_eq!((count.tokens, count.odd.as_deref()), (tokens, odd), "{json}");
    }

    #[test]
    fn a_json_integer_is_the_count() {
        check("8", Some(8), None);
        check("0", Some(0), None);
        check("null", None, None);
    }

    #[test]
    fn whole_floats_and_digit_strings_are_read() {
        check("8.0", Some(8), Some("8.0"));
        check("8e2", Some(800), Some("800.0"));
        check(r#""8""#, Some(8), Some("\"8\""));
    }

    #[test]
    fn anything_else_is_no_count() {
        check("-3", None, Some("-3"));
        check("7.5", None, Some("7.5"));
        check("-0.5", None, Some("-0.5"));
        check("4294967296", None, Some("4294967296"));
        check(r#""4294967296""#, None, Some("\"4294967296\""));
        check(r#""8 tokens""#, None, Some("\"8 tokens\""));
        check(r#""""#, None, Some("\"\""));
        check("true", None, Some("true"));
        check(r#"{"a":[1]}"#, None, Some("{...}"));
        check("[1,2]", None, Some("[...]"));
    }
}
