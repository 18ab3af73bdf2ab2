//! Reads AISBench's config files as data.
//!
//! The files are Python, and AISBench executes them. Nothing is executed here: a small parser reads
//! the part of Python that expresses data. It refuses anything else, and names the file, the line
//! number and the text of the line. That part is:
//!
//! * numbers, strings (raw, triple-quoted, adjacent), `True`, `False`, `None`;
//! * lists, tuples (read as lists), `{…}` and `dict(…)` with strings as keys, `*` and `**` in them;
//! * names that were bound before, subscripts of them (`models[0]["abbr"]`), `+ - * / // **` on
//!   numbers, `+` on strings and lists;
//! * `name = value`, `name += list`, `name[…] = value`;
//! * `from x import Y` and `import x`, whose names stand for classes of which only the name is
//!   used;
//! * `with read_base():` with `from .a import b` below it, which includes another file.

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
use crate::environment::Environment;

/// The config files of a command line, which may include one another, and the limits on all of them
/// together.
pub(super) struct Library<'a> {
    pub(super) environment: &'a Environment,
    limits: Limits,
    built_in: BuiltIn,
}

/// Returns the variables of the built-in config that is a module of this name, if there is one.
pub(super) type BuiltIn = fn(&str, &Library<'_>) -> Result<Option<Dict>, Fault>;

impl<'a> Library<'a> {
    /// Creates a library of an environment's files, of which none is read yet.
    pub(super) fn new(environment: &'a Environment, built_in: BuiltIn) -> Self {
        Self { environment, limits: Limits::default(), built_in }
    }

    /// Reads a config file. Returns its variables.
    pub(super) fn file(&self, path: &str) -> Result<Dict, Fault> {
        let file: Rc<str> = path.into();
        let place = Place { file: Rc::clone(&file), line: 0 };
        let text = self.environment.read(path);
        let text = text.map_err(|error| place.fault(format!("cannot be read: {error}")))?;
        refuse_large(&text, &place)?;
        Reader::read(&text, self, vec![file])
    }

    /// Reads a config text that is part of the program. Returns its variables. Messages call the
    /// text `name`.
    pub(super) fn built_in(&self, name: &str, text: &str) -> Result<Dict, Fault> {
        // Built-in texts do not count towards the limits on the user's files.
        Reader::read(text, &Library::new(self.environment, self.built_in), vec![name.into()])
    }

    /// Returns the variables of an included module: of a file beside the one that includes it or
    /// below the current folder, or of a built-in config. `trail` holds the files whose includes
    /// led here.
    fn module(&self, module: &str, trail: &[Rc<str>], place: &Place) -> Result<Dict, Fault> {
        if module == OF_ACCURACY {
            return (self.built_in)("example", self).map(Option::unwrap_or_default);
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
                let found = (self.built_in)(name, self)?;
                found.ok_or_else(|| place.fault(absent(module, &file)))
            }
            Err(error) => Err(place.fault(format!("{file} cannot be read: {error}"))),
        }
    }
}

/// Refuses a config of more than [`MOST_BYTES`] bytes.
pub(super) fn refuse_large(text: &str, file: &Place) -> Result<(), Fault> {
    if text.len() > MOST_BYTES {
        let why = format!("the config has more than {MOST_BYTES} bytes, which is the limit");
        return Err(file.fault(why));
    }
    Ok(())
}

/// AISBench's module of summarizers of accuracy, which contains code. Shipped configs of
/// performance runs include it, but no performance run uses it. The built-in `example` takes its
/// place.
const OF_ACCURACY: &str = "ais_bench.benchmark.configs.summarizers.example";

fn absent(module: &str, file: &str) -> String {
    format!("{module} is not built in, and there is no {file} here")
}

/// Returns the path of a module that `file` includes: `.a.b` is `a/b.py` beside the file, `..a` is
/// `a.py` in the folder above, and `a.b` is `a/b.py` below the current folder.
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
