//! Evaluates expressions while they are read.

use super::limits::{MOST_DEPTH, text_weight, too_deep, weight};
use super::reader::Reader;
use super::token::Kind;
use super::value::{Dict, Fault, Located, Place, Value, put};

impl Reader<'_> {
    /// Reads an expression, up to the first token that cannot continue it. Returns its value.
    pub(super) fn expression(&mut self) -> Result<Located, Fault> {
        let mut left = self.product()?;
        while let Some(sign) = self.take_one_of(&["+", "-"]) {
            let right = self.product()?;
            left = self.calculate(sign, &left, &right)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Located, Fault> {
        let mut left = self.signed()?;
        while let Some(sign) = self.take_one_of(&["*", "//", "/"]) {
            let right = self.signed()?;
            left = self.calculate(sign, &left, &right)?;
        }
        Ok(left)
    }

    /// Reads a factor with its signs. Every nested expression is read through this function, so the
    /// limit on the depth is checked here.
    fn signed(&mut self) -> Result<Located, Fault> {
        if self.depth >= MOST_DEPTH {
            return Err(too_deep(&self.place()));
        }
        self.depth += 1;
        let value = self.signed_power();
        self.depth -= 1;
        value
    }

    fn signed_power(&mut self) -> Result<Located, Fault> {
        let place = self.place();
        match self.take_one_of(&["-", "+"]) {
            Some("-") => {
                let (zero, right) = (Located { value: Value::Int(0), place }, self.signed()?);
                self.calculate("-", &zero, &right)
            }
            Some(_) => self.signed(),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<Located, Fault> {
        let base = self.subscripted()?;
        if self.take_one_of(&["**"]).is_none() {
            return Ok(base);
        }
        let exponent = self.signed()?;
        self.calculate("**", &base, &exponent)
    }

    /// Reads a value and the subscripts that follow it. Refuses calls and attributes, which are not
    /// data.
    fn subscripted(&mut self) -> Result<Located, Fault> {
        let mut value = self.atom()?;
        while self.take("[") {
            let key = self.expression()?;
            self.expect("]")?;
            value = item(&value, &key)?;
        }
        if self.is("(") || self.is(".") {
            return Err(self.refuse("calls and attributes are not data"));
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Located, Fault> {
        let place = self.place();
        let value = match self.kind() {
            Kind::Int(number) => Value::Int(number),
            Kind::Float(number) => Value::Float(number),
            Kind::Text(_) => return Ok(Located { value: self.strings(), place }),
            Kind::Name(name) => return self.parse_name(&name, place),
            Kind::Sign("[") => return self.items("[", "]"),
            Kind::Sign("(") => return self.parenthesised(),
            Kind::Sign("{") => return self.braces(),
            Kind::End | Kind::Line(_) => {
                return Err(self.refuse("it ends where a value is expected"));
            }
            Kind::Sign(_) => return Err(self.refuse("this is not data")),
        };
        self.advance();
        Ok(Located { value, place })
    }

    /// Reads adjacent strings as one string.
    fn strings(&mut self) -> Value {
        let mut whole = String::new();
        while let Kind::Text(text) = self.kind() {
            whole.push_str(&text);
            self.advance();
        }
        Value::Text(whole)
    }

    fn parse_name(&mut self, name: &str, place: Place) -> Result<Located, Fault> {
        self.advance();
        let value = match name {
            "None" => Value::None,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "dict" => return self.called_dict(place),
            "list" | "tuple" if self.is("(") => return self.called_list(place),
            "for" | "if" | "lambda" | "not" | "and" | "or" | "in" | "await" | "yield" => {
                return Err(self.refuse_at(&place, "this is code, not data"));
            }
            _ => return self.looked_up(name, &place),
        };
        Ok(Located { value, place })
    }

    fn looked_up(&mut self, name: &str, place: &Place) -> Result<Located, Fault> {
        match self.variable(name) {
            Some(value) => {
                self.limits().make(weight(&value.value), place)?;
                Ok(value)
            }
            None => Err(self.refuse_at(place, &format!("{name} has no value here"))),
        }
    }

    /// Reads the rest of a call of `dict`: `dict(a=1, **b)` or `dict[str, int](a=1)`.
    fn called_dict(&mut self, place: Place) -> Result<Located, Fault> {
        if self.take("[") {
            self.skip_to("]")?;
        }
        self.expect("(")?;
        let mut entries = Dict::new();
        while !self.take(")") {
            if self.take("**") {
                self.unpack_into(&mut entries)?;
            } else {
                let key = self.name()?;
                if entries.iter().any(|(name, _)| *name == key) {
                    return Err(self.refuse(&format!("{key} is given twice")));
                }
                self.expect("=")?;
                let value = self.expression()?;
                put(&mut entries, key, value);
            }
            self.comma_or(")")?;
        }
        Ok(Located { value: Value::dict(entries), place })
    }

    fn called_list(&mut self, place: Place) -> Result<Located, Fault> {
        self.expect("(")?;
        if self.take(")") {
            return Ok(Located { value: Value::list(Vec::new()), place });
        }
        let inner = self.expression()?;
        self.expect(")")?;
        let items = self.items_of(&inner)?;
        Ok(Located { value: Value::list(items), place })
    }

    /// Reads items between brackets, such as `[1, *more]`, as a list.
    fn items(&mut self, open: &'static str, close: &'static str) -> Result<Located, Fault> {
        let place = self.place();
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.take(close) {
            if self.take("*") {
                let more = self.expression()?;
                items.extend(self.items_of(&more)?);
            } else {
                items.push(self.expression()?);
            }
            self.comma_or(close)?;
        }
        Ok(Located { value: Value::list(items), place })
    }

    /// Reads a tuple, or a value in parentheses.
    fn parenthesised(&mut self) -> Result<Located, Fault> {
        let is_tuple = self.holds_comma();
        let inside = self.items("(", ")")?;
        let items = self.items_of(&inside)?;
        match <[Located; 1]>::try_from(items) {
            Ok([value]) if !is_tuple => Ok(value),
            _ => Ok(inside),
        }
    }

    fn braces(&mut self) -> Result<Located, Fault> {
        let place = self.place();
        self.expect("{")?;
        let mut entries = Dict::new();
        while !self.take("}") {
            if self.take("**") {
                self.unpack_into(&mut entries)?;
            } else {
                let key = self.expression()?;
                let Value::Text(name) = key.value else {
                    return Err(key.fault("the keys of a dict must be strings here"));
                };
                self.expect(":")?;
                let value = self.expression()?;
                put(&mut entries, name, value);
            }
            self.comma_or("}")?;
        }
        Ok(Located { value: Value::dict(entries), place })
    }

    fn unpack_into(&mut self, entries: &mut Dict) -> Result<(), Fault> {
        let inner = self.expression()?;
        let Value::Dict(more) = &inner.value else {
            return Err(inner.fault(format!("** takes a dict, not {}", inner.value.kind())));
        };
        for (key, value) in more.borrow().iter() {
            self.limits().make(text_weight(key.len()) + weight(&value.value), &inner.place)?;
            put(entries, key.clone(), value.clone());
        }
        Ok(())
    }

    fn items_of(&self, list: &Located) -> Result<Vec<Located>, Fault> {
        match &list.value {
            Value::List(items) => {
                self.limits().copy(&items.borrow(), &list.place)?;
                Ok(items.borrow().clone())
            }
            other => Err(list.fault(format!("a list is expected here, not {}", other.kind()))),
        }
    }

    fn calculate(&self, sign: &str, left: &Located, right: &Located) -> Result<Located, Fault> {
        let value = match (&left.value, &right.value) {
            (Value::Int(left), Value::Int(right)) => whole(sign, *left, *right),
            (Value::Text(first), Value::Text(right)) if sign == "+" => {
                self.limits().make(text_weight(first.len() + right.len()), &left.place)?;
                Some(Value::Text(format!("{first}{right}")))
            }
            (Value::List(first), Value::List(right)) if sign == "+" => {
                self.limits().copy(&first.borrow(), &left.place)?;
                self.limits().copy(&right.borrow(), &left.place)?;
                Some(Value::list([&**first.borrow(), &**right.borrow()].concat()))
            }
            (left, right) => float(left).zip(float(right)).and_then(|(a, b)| broken(sign, a, b)),
        };
        let kinds = (left.value.kind(), right.value.kind());
        let value = value.ok_or_else(|| {
            let why = format!("{} {sign} {} cannot be worked out", kinds.0, kinds.1);
            self.refuse_at(&left.place, &why)
        })?;
        Ok(Located { value, place: left.place.clone() })
    }
}

fn whole(sign: &str, left: i64, right: i64) -> Option<Value> {
    let exponent = u32::try_from(right).ok();
    match sign {
        "+" => left.checked_add(right).map(Value::Int),
        "-" => left.checked_sub(right).map(Value::Int),
        "*" => left.checked_mul(right).map(Value::Int),
        "//" if right > 0 => Some(Value::Int(left.div_euclid(right))),
        "/" if right != 0 => Some(Value::Float(left as f64 / right as f64)),
        "**" => left.checked_pow(exponent?).map(Value::Int),
        _ => None,
    }
}

fn broken(sign: &str, left: f64, right: f64) -> Option<Value> {
    let number = match sign {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" if right != 0.0 => left / right,
        "**" => left.powf(right),
        _ => return None,
    };
    Some(Value::Float(number))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// Returns the value of the expression `value[key]`.
pub(super) fn item(value: &Located, key: &Located) -> Result<Located, Fault> {
    let found = match (&value.value, &key.value) {
        (Value::List(items), Value::Int(index)) => {
            let items = items.borrow();
            position(*index, items.len()).map(|index| items[index].clone())
        }
        (Value::Dict(entries), Value::Text(name)) => {
            let entries = entries.borrow();
            entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        }
        _ => {
            let (of, by) = (value.value.kind(), key.value.kind());
            return Err(key.fault(format!("{of} has no items by {by}")));
        }
    };
    found.ok_or_else(|| key.fault("there is no such item"))
}

/// Returns the zero-based position of a Python index in `length` items; `None` if it is out of
/// range. A negative index counts from the end.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let from_start =
        if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(from_start).ok().filter(|index| *index < length)
}
