//! Files in TOML, as values of JSON: strings, arrays and tables. Numbers and dates are left out,
//! because no file that is read here needs them.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// Parses the text of a file.
pub(crate) fn parse(text: &str) -> anyhow::Result<Value> {
    Ok(of_table(DeTable::parse(text)?.get_ref()))
}

fn of_table(table: &DeTable<'_>) -> Value {
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let key: &str = AsRef::<str>::as_ref(key.get_ref());
        (key.to_owned(), of_value(value.get_ref()))
    };
    Value::Object(table.iter().map(entry).collect())
}

fn of_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Array(items) => items.iter().map(|item| of_value(item.get_ref())).collect(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Table(table) => of_table(table),
        DeValue::Datetime(_) | DeValue::Float(_) | DeValue::Integer(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_and_arrays_are_kept() {
        let text = "[a]\nb = [\"c\", { d = \"e\" }]\n\n[[f]]\ng = 1\n";
        let expected = json!({"a": {"b": ["c", {"d": "e"}]}, "f": [{"g": null}]});
        assert_eq!(parse(text).unwrap(), expected);
        assert!(parse("[a").is_err());
    }
}
