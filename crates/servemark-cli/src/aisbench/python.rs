//! The peer's config files, read as data.
//!
//! They are Python, and the peer runs them. Nothing runs here: a file is read by a small parser for
//! the part of Python in which data is written down, and whatever else stands in a file is refused
//! with its file, its line and the line's text. That part is:
//!
//! * numbers, strings (raw, of three quotes, side by side), `True`, `False`, `None`;
//! * lists, tuples (read as lists), `{…}` and `dict(…)` with strings for keys, `*` and `**` in them;
//! * names that were bound before, items of theirs (`models[0]["abbr"]`), `+ - * / // **` on numbers,
//!   `+` on strings and lists;
//! * `name = value`, `name += list`, `name[…] = value`;
//! * `from x import Y` and `import x`, whose names are classes of which only the name counts;
//! * `with read_base():` and `from .a import b` under it, which include another file.

mod expression;
mod limits;
mod reader;
#[cfg(test)]
mod tests;
mod token;
mod value;
mod words;

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use self::limits::{Limits, MOST_BYTES, MOST_INCLUDES};
use self::reader::Reader;
pub(super) use self::value::{Dict, Fault, Located, Place, Value, put};
use super::catalog;
use crate::environment::Environment;

/// Where files come from that are read, and that include one another.
pub(super) struct Library<'a> {
    pub(super) environment: &'a Environment,
    limits: Limits,
}

impl<'a> Library<'a> {
    /// The files of an environment, of which nothing is read yet.
    pub(super) fn new(environment: &'a Environment) -> Self {
        Self { environment, limits: Limits::default() }
    }

    /// What the names of a file stand for.
    pub(super) fn file(&self, path: &str) -> Result<Dict, Fault> {
        let file: Rc<str> = path.into();
        let place = Place { file: Rc::clone(&file), line: 0 };
        let text = self.environment.read(path);
        let text = text.map_err(|error| place.fault(format!("cannot be read: {error}")))?;
        refuse_large(&text, &place)?;
        Reader::read(&text, self, vec![file])
    }

    /// What the names of a text stand for that comes with the program.
    pub(super) fn built_in(&self, name: &str, text: &str) -> Result<Dict, Fault> {
        // What comes with the program does not count towards the limits of the user's files.
        Reader::read(text, &Library::new(self.environment), vec![name.into()])
    }

    /// What the names of an included module stand for: a file's beside the one that includes it, or
    /// below the current folder, or one that is built in.
    fn module(&self, module: &str, trail: &[Rc<str>], place: &Place) -> Result<Dict, Fault> {
        if module == OF_ACCURACY {
            return catalog::module("example", self).map(Option::unwrap_or_default);
        }
        let path = path_of(module, trail.last().map_or("", |file| file));
        let file: Rc<str> = path.to_string_lossy().into();
        if trail.contains(&file) {
            return Err(place.fault(format!("{file} includes itself")));
        }
        if trail.len() > MOST_INCLUDES {
            let why = format!("files include one another more than {MOST_INCLUDES} deep here");
            return Err(place.fault(why));
        }
        match self.environment.read(&file) {
            Ok(text) => {
                refuse_large(&text, &Place { file: Rc::clone(&file), line: 0 })?;
                Reader::read(&text, self, [trail, &[file]].concat())
            }
            Err(_) if !module.starts_with('.') => {
                let name = module.rsplit('.').next().unwrap_or_default();
                let found = catalog::module(name, self)?;
                found.ok_or_else(|| place.fault(absent(module, &file)))
            }
            Err(error) => Err(place.fault(format!("{file} cannot be read: {error}"))),
        }
    }
}

/// Refuses a config file that is larger than any config is.
pub(super) fn refuse_large(text: &str, file: &Place) -> Result<(), Fault> {
    if text.len() > MOST_BYTES {
        let why = format!("the config has more than {MOST_BYTES} bytes, which is the limit");
        return Err(file.fault(why));
    }
    Ok(())
}

/// The peer's summary of accuracy, whose groups are code. Shipped configs of measurements include it,
/// and no measurement uses it.
const OF_ACCURACY: &str = "ais_bench.benchmark.configs.summarizers.example";

fn absent(module: &str, file: &str) -> String {
    format!("{module} is not built in, and there is no {file} here")
}

/// `.a.b` is `a/b.py` beside the file, `..a` is in the folder above it, `a.b` below the current one.
fn path_of(module: &str, file: &str) -> PathBuf {
    let name = module.trim_start_matches('.');
    let dots = module.len() - name.len();
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut path = if dots == 0 { PathBuf::new() } else { folder.to_path_buf() };
    for _ in 1..dots {
        match path.components().next_back() {
            Some(Component::Normal(_)) => {
                path.pop();
            }
            _ => path.push(".."),
        }
    }
    path.extend(name.split('.'));
    path.set_extension("py");
    path
}
