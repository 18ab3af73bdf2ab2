//! What a config file holds: data, each piece with the place where it was written.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A line of a config file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::aisbench) struct Place {
    pub(in crate::aisbench) file: Rc<str>,
    /// From one; zero where a file as a whole is meant.
    pub(in crate::aisbench) line: usize,
}

/// `FILE:LINE`, as compilers have it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::aisbench) struct Located {
    pub(in crate::aisbench) value: Value,
    pub(in crate::aisbench) place: Place,
}

/// A value of Python's that is data. Lists and dicts are shared, as they are there: what is put
/// into one is seen by every name that it has.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::aisbench) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Rc<RefCell<Vec<Located>>>),
    Dict(Rc<RefCell<Dict>>),
    /// A class, a function or a module, of which nothing but the name is known.
    Name(String),
}

/// Keys in the order in which they were first given.
pub(in crate::aisbench) type Dict = Vec<(String, Located)>;

impl Value {
    pub(in crate::aisbench) fn list(items: Vec<Located>) -> Self {
        Self::List(Rc::new(RefCell::new(items)))
    }

    pub(in crate::aisbench) fn dict(entries: Dict) -> Self {
        Self::Dict(Rc::new(RefCell::new(entries)))
    }

    /// What kind of value it is, in Python's words.
    pub(in crate::aisbench) fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an int",
            Self::Float(_) => "a float",
            Self::Text(_) => "a str",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dict",
            Self::Name(_) => "a name",
        }
    }
}

/// Puts a value under a key, where the key is or behind all others.
pub(in crate::aisbench) fn put(entries: &mut Dict, key: String, value: Located) {
    match entries.iter_mut().find(|(name, _)| *name == key) {
        Some((_, old)) => *old = value,
        None => entries.push((key, value)),
    }
}

/// What is wrong with a config file, and where.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::aisbench) struct Fault {
    pub(in crate::aisbench) place: Place,
    pub(in crate::aisbench) why: String,
}

impl Place {
    pub(in crate::aisbench) fn fault(&self, why: impl Into<String>) -> Fault {
        Fault { place: self.clone(), why: why.into() }
    }
}

impl Located {
    pub(in crate::aisbench) fn fault(&self, why: impl Into<String>) -> Fault {
        self.place.fault(why)
    }

    /// The same value, taken to be written elsewhere.
    pub(super) fn at(self, place: &Place) -> Self {
        Self { place: place.clone(), ..self }
    }
}
