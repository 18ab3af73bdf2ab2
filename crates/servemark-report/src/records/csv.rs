//! CSV as pandas 3.1 writes it with `DataFrame.from_records(…).to_csv()`.

use std::io;

use serde_json::Value;

use super::Records;
use crate::grid::{guarded, quoted};

impl Records {
    /// Writes the table as CSV. The first column has an empty heading and holds the row numbers.
    pub fn write_csv(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let columns = self.columns();
        if columns.is_empty() && self.rows.is_empty() {
            return out.write_all(b"\"\"\n");
        }
        let heads: Vec<String> = columns.iter().map(|key| guarded(key)).collect();
        writeln!(out, ",{}", heads.join(","))?;
        let kinds: Vec<_> = columns.iter().map(|key| (key, self.kind(key))).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let cell = |(key, kind): &(&&str, super::Kind)| {
                let value = row.get(**key).filter(|value| !value.is_null());
                let text = kind.text(value).unwrap_or_default();
                // Numbers and lists come from Servemark or a peer; strings may come from any
                // source, so that formulas in them must be made harmless.
                if value.is_some_and(Value::is_string) { guarded(&text) } else { quoted(&text) }
            };
            writeln!(out, "{number},{}", kinds.iter().map(cell).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}
