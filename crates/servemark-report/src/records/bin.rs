//! Binning of a column's values: `request_throughput%1`.

use std::str::FromStr;

use serde_json::{Value, json};

use super::{Records, RecordsError, number, python_str};

/// Rounds the values of a column down to multiples of a bin size.
#[derive(Clone, Debug, PartialEq)]
pub struct Binner {
    key: String,
    size: f64,
}

impl FromStr for Binner {
    type Err = RecordsError;

    fn from_str(statement: &str) -> Result<Self, RecordsError> {
        let (key, size) = statement.split_once('%').ok_or_else(|| RecordsError::NoOperator {
            statement: statement.to_owned(),
            operators: "%",
        })?;
        let (key, size) = (key.trim().to_owned(), size.trim());
        let wrong = |_| RecordsError::NotANumber { key: key.clone(), value: size.to_owned() };
        let size = size.parse().map_err(wrong)?;
        Ok(Self { key, size })
    }
}

impl Binner {
    /// Parses a comma-separated list of bin expressions.
    pub fn list(statements: &str) -> Result<Vec<Self>, RecordsError> {
        super::listed(statements)
    }

    /// Returns the rows with the values of the column binned.
    pub fn apply(&self, records: &Records) -> Result<Records, RecordsError> {
        let columns = records.columns();
        if !columns.contains(&self.key.as_str()) {
            return Err(RecordsError::no_column("bin_by", &self.key, &columns));
        }
        let mut binned = records.clone();
        for value in binned.rows.iter_mut().filter_map(|row| row.get_mut(&self.key)) {
            let Some(number) = number(value) else {
                if value.is_null() {
                    continue;
                }
                let value = python_str(value);
                return Err(RecordsError::NotANumber { key: self.key.clone(), value });
            };
            *value = binned_value(number, self.size);
        }
        Ok(binned)
    }
}

/// Returns the lower edge of a number's bin; a result that is not finite becomes null.
fn binned_value(number: f64, size: f64) -> Value {
    json!(floor_divided(number, size) * size)
}

/// Divides as NumPy's `//` of floats does: by way of the remainder, because the plain quotient may
/// be rounded up.
fn floor_divided(number: f64, size: f64) -> f64 {
    let rest = number % size;
    let mut quotient = (number - rest) / size;
    if rest != 0.0 && (size < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}
