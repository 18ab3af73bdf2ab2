//! A table as `DataFrame.from_records(…).to_csv()` writes it: pandas 3.1.

use std::io;

use serde_json::Value;

use super::Records;
use crate::grid::{guarded, quoted};

impl Records {
    /// Writes the table with a first column, which has no name, of the rows' numbers.
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
                // Numbers and lists are ours or a peer's; texts may come from anywhere.
                if value.is_some_and(Value::is_string) { guarded(&text) } else { quoted(&text) }
            };
            writeln!(out, "{number},{}", kinds.iter().map(cell).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}
