//! Filters of rows: `max_concurrency<1000`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::{Records, RecordsError, number, python_str};

/// A condition that selects rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    key: String,
    operator: Operator,
    target: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    NotEqual,
}

/// Operators in the order in which vLLM tries them.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl FromStr for Filter {
    type Err = RecordsError;

    fn from_str(statement: &str) -> Result<Self, RecordsError> {
        let found = OPERATORS.iter().find_map(|(sign, operator)| {
            statement.split_once(sign).map(|(key, target)| (key, *operator, target))
        });
        let (key, operator, target) = found.ok_or_else(|| RecordsError::NoOperator {
            statement: statement.to_owned(),
            operators: "==, !=, <=, >=, < and >",
        })?;
        let target = target.trim().trim_matches('\'').trim_matches('"').to_owned();
        let filter = Self { key: key.trim().to_owned(), operator, target };
        if filter.operator.orders() && filter.target.trim().parse::<f64>().is_err() {
            return Err(RecordsError::NotANumber { key: filter.key, value: filter.target });
        }
        Ok(filter)
    }
}

impl Filter {
    /// Parses a comma-separated list of filter expressions.
    pub fn list(statements: &str) -> Result<Vec<Self>, RecordsError> {
        super::listed(statements)
    }

    /// Returns the rows that meet the condition.
    pub fn apply(&self, records: &Records) -> Result<Records, RecordsError> {
        let columns = records.columns();
        if !columns.contains(&self.key.as_str()) {
            return Err(RecordsError::no_column("filter_by", &self.key, &columns));
        }
        let target = self.target(records);
        let mut rows = Vec::new();
        for row in &records.rows {
            if self.matches(row.get(&self.key).unwrap_or(&Value::Null), &target)? {
                rows.push(row.clone());
            }
        }
        Ok(Records::new(rows))
    }

    /// Returns the value to compare with. `true` and `false` are read as booleans only if all
    /// values of the column are.
    fn target(&self, records: &Records) -> Target {
        let mut values = records.column(&self.key).flatten().peekable();
        let is_flag = values.peek().is_some() && values.all(Value::is_boolean);
        match self.target.to_lowercase().as_str() {
            "true" if is_flag => Target::Number(1.0),
            "false" if is_flag => Target::Number(0.0),
            _ => (self.target.trim().parse())
                .map_or_else(|_| Target::Text(self.target.clone()), Target::Number),
        }
    }

    fn matches(&self, value: &Value, target: &Target) -> Result<bool, RecordsError> {
        let is_equal = match target {
            Target::Number(target) => number(value) == Some(*target),
            Target::Text(target) => value.as_str() == Some(target),
        };
        match self.operator {
            Operator::Equal => return Ok(is_equal),
            Operator::NotEqual => return Ok(!is_equal),
            _ if value.is_null() => return Ok(false),
            _ => {}
        }
        let (Some(number), Target::Number(target)) = (number(value), target) else {
            let (statement, value) = (self.to_string(), python_str(value));
            return Err(RecordsError::NoOrder { statement, value });
        };
        Ok(self.operator.compare(number, *target))
    }
}

/// Value that a row's value is compared with.
enum Target {
    Number(f64),
    Text(String),
}

impl Operator {
    fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }

    #[expect(clippy::float_cmp, reason = "what is asked for is the very number")]
    fn compare(self, value: f64, target: f64) -> bool {
        match self {
            Self::Equal => value == target,
            Self::Greater => value > target,
            Self::GreaterOrEqual => value >= target,
            Self::Less => value < target,
            Self::LessOrEqual => value <= target,
            Self::NotEqual => value != target,
        }
    }

    fn sign(self) -> &'static str {
        OPERATORS.iter().find(|(_, known)| *known == self).map_or("", |(sign, _)| sign)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.key, self.operator.sign(), self.target)
    }
}
