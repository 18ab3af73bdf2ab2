//! Values as written by Python's `str`, which is how templates print them.

use std::fmt::{self, Write};

use minijinja::value::{Value, ValueKind};
use servemark_pyjson::{quoted, repr};

/// Writes a value: text unchanged, everything else like Python's `repr`.
pub(crate) fn write_str(out: &mut impl Write, value: &Value) -> fmt::Result {
    match value.as_str() {
        Some(text) => out.write_str(text),
        None => write_repr(out, value),
    }
}

fn write_repr(out: &mut impl Write, value: &Value) -> fmt::Result {
    match value.kind() {
        ValueKind::Number if !value.is_integer() => {
            out.write_str(&repr(f64::try_from(value.clone()).map_err(|_| fmt::Error)?))
        }
        ValueKind::String => out.write_str(&quoted(value.as_str().unwrap_or_default())),
        ValueKind::Seq => {
            let items = value.try_iter().map_err(|_| fmt::Error)?;
            write_items(out, ['[', ']'], items, |out, item| write_repr(out, &item))
        }
        ValueKind::Map => {
            let keys = value.try_iter().map_err(|_| fmt::Error)?;
            write_items(out, ['{', '}'], keys, |out, key| {
                write_repr(out, &key)?;
                out.write_str(": ")?;
                write_repr(out, &value.get_item(&key).map_err(|_| fmt::Error)?)
            })
        }
        _ => write!(out, "{value}"),
    }
}

fn write_items<W: Write>(
    out: &mut W,
    [open, close]: [char; 2],
    items: impl Iterator<Item = Value>,
    write: impl Fn(&mut W, Value) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    for (place, item) in items.enumerate() {
        out.write_str(if place > 0 { ", " } else { "" })?;
        write(out, item)?;
    }
    out.write_char(close)
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn prints(value: serde_json::Value, expected: &str) {
        let mut out = String::new();
        write_str(&mut out, &Value::from(Serde(value))).unwrap();
        assert_eq!(out, expected);
    }

    #[test]
    fn values_read_as_in_python() {
        prints(json!("it's\n"), "it's\n");
        prints(json!(1e16), "1e+16");
        prints(json!(-3), "-3");
        prints(json!(null), "None");
        prints(
            json!({"a": [1.5, null, true, {}], "it's": "x\n\\\u{1}", "q": "'\""}),
            "{'a': [1.5, None, True, {}], \"it's\": 'x\\n\\\\\\x01', 'q': '\\'\"'}",
        );
    }
}
