//! Values of a config file, each with the position at which it was written.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A position in a config file: the file and the line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::aisbench) struct Place {
    pub(in crate::aisbench) file: Rc<str>,
    /// One-based line number; zero means the whole file.
    pub(in crate::aisbench) line: usize,
}

/// Formats the position as `FILE:LINE`, as compilers do, or as `FILE` for a whole file.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A value and the position at which it was written.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::aisbench) struct Located {
    pub(in crate::aisbench) value: Value,
    pub(in crate::aisbench) place: Place,
}

/// A Python value that is data. Lists and dicts are shared, as in Python: a change through one name
/// is visible through all names of the same list or dict.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::aisbench) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Rc<RefCell<Vec<Located>>>),
    Dict(Rc<RefCell<Dict>>),
    /// A class, a function or a module, of which only the name is known.
    Name(String),
}

/// Keys and values of a dict, in the order in which the keys were first given.
pub(in crate::aisbench) type Dict = Vec<(String, Located)>;

impl Value {
    pub(in crate::aisbench) fn list(items: Vec<Located>) -> Self {
        Self::List(Rc::new(RefCell::new(items)))
    }

    pub(in crate::aisbench) fn dict(entries: Dict) -> Self {
        Self::Dict(Rc::new(RefCell::new(entries)))
    }

    /// Returns the kind of the value in Python's words, such as `a str`.
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

/// Sets the value of a key. A new key is added at the end.
pub(in crate::aisbench) fn put(entries: &mut Dict, key: String, value: Located) {
    match entries.iter_mut().find(|(name, _)| *name == key) {
        Some((_, old)) => *old = value,
        None => entries.push((key, value)),
    }
}

/// An error in a config file, with its position.
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

    /// Returns the value with another position.
    pub(super) fn at(self, place: &Place) -> Self {
        Self { place: place.clone(), ..self }
    }
}
