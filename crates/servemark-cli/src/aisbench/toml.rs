//! Reads a config from a declarative file: TOML instead of Python.
//!
//! The keys are those of the Python files. `[[models]]` and `[[datasets]]` may begin with `base =
//! "NAME"`, the name of a built-in config whose settings the other keys change.

use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::catalog::{self, Kind};
use super::python::{Dict, Fault, Library, Located, Place, Value, put, refuse_large};
use super::section::{items, text};

/// Reads a TOML config file. Returns the values of its top-level keys, with built-in configs in
/// place of their names.
pub(super) fn read(path: &str, library: &Library<'_>) -> Result<Dict, Fault> {
    let file: Rc<str> = path.into();
    let whole = Place { file: Rc::clone(&file), line: 0 };
    let text = library.environment.read(path);
    let text = text.map_err(|error| whole.fault(format!("cannot be read: {error}")))?;
    refuse_large(&text, &whole)?;
    let reader = Reader { text: &text, file };
    let table = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        reader.place(at).fault(format!("this is not TOML: {}", error.message()))
    })?;
    let mut names = reader.entries(table.get_ref())?;
    for (name, value) in &mut names {
        match name.as_str() {
            "models" => based(value, Kind::Models, library)?,
            "datasets" => based(value, Kind::Datasets, library)?,
            "summarizer" => summarizer(value, library)?,
            "work_dir" => {}
            other => return Err(value.fault(format!("a config has no key {other:?}"))),
        }
    }
    Ok(names)
}

struct Reader<'a> {
    text: &'a str,
    file: Rc<str>,
}

impl Reader<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        Place { file: Rc::clone(&self.file), line: before.matches('\n').count() + 1 }
    }

    fn entries(&self, table: &DeTable<'_>) -> Result<Dict, Fault> {
        let mut entries = Vec::new();
        for (key, value) in table {
            entries.push((key.span().start, key.get_ref().to_string(), self.value(value)?));
        }
        entries.sort_by_key(|(at, ..)| *at);
        Ok(entries.into_iter().map(|(_, key, value)| (key, value)).collect())
    }

    fn value(&self, value: &Spanned<DeValue<'_>>) -> Result<Located, Fault> {
        let place = self.place(value.span().start);
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix());
                Value::Int(whole.map_err(|_| place.fault("the number is too large"))?)
            }
            DeValue::Float(number) => {
                let float = number.as_str().parse();
                Value::Float(float.map_err(|_| place.fault("this is no number"))?)
            }
            DeValue::Array(items) => {
                Value::list(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::dict(self.entries(table)?),
            DeValue::Datetime(_) => return Err(place.fault("no key of a config takes a date")),
        };
        Ok(Located { value, place })
    }
}

/// Replaces each item of a list that has a `base` by the built-in configs of this name, changed by
/// the other keys of the item.
fn based(list: &mut Located, kind: Kind, library: &Library<'_>) -> Result<(), Fault> {
    let mut based = Vec::new();
    for item in items(list, kind.folder())? {
        let Value::Dict(entries) = &item.value else {
            return Err(item.fault("a table is expected here"));
        };
        let mut entries = entries.borrow().clone();
        let base = entries.iter().position(|(key, _)| key == "base").map(|at| entries.remove(at).1);
        let Some(base) = base else {
            based.push(item.clone());
            continue;
        };
        let name = text(&base, "base")?;
        let found = catalog::find(kind, &name, library)?;
        let found = found.ok_or_else(|| base.fault(format!("{name} is not built in")))?;
        for under in items(&found, kind.folder())? {
            over(&under, entries.clone());
            based.push(Located { place: item.place.clone(), ..under });
        }
    }
    list.value = Value::list(based);
    Ok(())
}

/// Puts entries into a dict. They replace those of the same key; if both values are dicts, they are
/// merged.
fn over(under: &Located, entries: Dict) {
    let Value::Dict(below) = &under.value else { return };
    for (key, value) in entries {
        let there =
            below.borrow().iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        match (there, &value.value) {
            (Some(there @ Located { value: Value::Dict(_), .. }), Value::Dict(more)) => {
                over(&there, more.borrow().clone());
            }
            _ => put(&mut below.borrow_mut(), key, value),
        }
    }
}

/// Replaces a summarizer that is given by its name alone by the built-in one.
fn summarizer(value: &mut Located, library: &Library<'_>) -> Result<(), Fault> {
    let Value::Text(name) = &value.value else { return Ok(()) };
    let found = catalog::find(Kind::Summarizer, name, library)?;
    *value = found.ok_or_else(|| value.fault(format!("{name} is not built in")))?;
    Ok(())
}
