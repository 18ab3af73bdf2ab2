//! Reads a config file statement by statement.

use std::rc::Rc;

use super::Library;
use super::expression::position;
use super::limits::Limits;
use super::token::{Kind, Token, tokens};
use super::value::{Dict, Fault, Located, Place, Value, put};

/// Reads the statements of one config file.
pub(super) struct Reader<'a> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) file: Place,
    pub(super) lines: Vec<&'a str>,
    /// Variables of the file, in the order in which they were first bound.
    names: Dict,
    library: &'a Library<'a>,
    /// Files whose includes led to this one, which is the last.
    trail: Vec<Rc<str>>,
    /// Nesting depth of the expression that is being read.
    pub(super) depth: usize,
}

impl<'a> Reader<'a> {
    /// Reads the text of a file. Returns the file's variables.
    pub(super) fn read(
        text: &'a str,
        library: &'a Library<'a>,
        trail: Vec<Rc<str>>,
    ) -> Result<Dict, Fault> {
        let name = trail.last().cloned().unwrap_or_else(|| "".into());
        let file = Place { file: name, line: 0 };
        let (tokens, lines) = (tokens(text, &file)?, text.lines().collect());
        library.limits.make(tokens.len(), &file)?;
        let names = Dict::new();
        let mut reader = Self { tokens, at: 0, file, lines, names, library, trail, depth: 0 };
        while reader.statement()? {}
        Ok(reader.names)
    }

    /// Reads one statement or the end of a line. Returns `false` at the end of the file.
    fn statement(&mut self) -> Result<bool, Fault> {
        match self.kind() {
            Kind::End => return Ok(false),
            Kind::Line(0) | Kind::Sign(";") => self.advance(),
            // The indentation of an empty line means nothing.
            Kind::Line(_) if matches!(self.next_kind(), Kind::Line(_) | Kind::End) => {
                self.advance();
            }
            Kind::Line(_) => {
                self.advance();
                return Err(self.refuse("this block is code, not data"));
            }
            Kind::Text(_) => self.ignored_string()?,
            Kind::Name(word) => self.begun_by(&word)?,
            _ => return Err(self.refuse("this is no statement that a config file may have")),
        }
        Ok(true)
    }

    /// Reads a string that is a statement of its own, such as a docstring, and ignores it.
    fn ignored_string(&mut self) -> Result<(), Fault> {
        self.expression()?;
        self.end_of_line()
    }

    fn begun_by(&mut self, word: &str) -> Result<(), Fault> {
        match word {
            "from" => self.import(false),
            "import" => self.import_modules(),
            "with" => self.includes(),
            _ if KEYWORDS.contains(&word) => Err(self.refuse("this is code, not data")),
            _ => self.assignment(),
        }
    }

    /// Reads `name = value`, `name += value` or `name[0]["key"] = value`.
    fn assignment(&mut self) -> Result<(), Fault> {
        let place = self.place();
        let name = self.name()?;
        let mut path = Vec::new();
        while self.take("[") {
            path.push(self.expression()?);
            self.expect("]")?;
        }
        if self.take("+=") {
            let old = self.variable(&name);
            let more = self.expression()?;
            let Some(Value::List(items)) = old.filter(|_| path.is_empty()).map(|old| old.value)
            else {
                return Err(self.refuse_at(&place, "+= is understood for lists alone"));
            };
            let Value::List(more) = more.value else {
                return Err(more.fault("+= takes a list here"));
            };
            self.limits().copy(&more.borrow(), &place)?;
            let more = more.borrow().clone();
            items.borrow_mut().extend(more);
            self.check_names(&place)?;
            return self.end_of_line();
        }
        if !self.take("=") {
            return Err(self.refuse_at(&place, "this is code, not data"));
        }
        let value = self.expression()?;
        match path.split_last() {
            None => {
                self.limits().check(&value, &place)?;
                put(&mut self.names, name, value);
            }
            Some((last, path)) => {
                self.put_into(&name, path, last, value, &place)?;
                self.check_names(&place)?;
            }
        }
        self.end_of_line()
    }

    pub(super) fn limits(&self) -> &'a Limits {
        &self.library.limits
    }

    /// Checks the limits of all variables after one was changed in place, because others may
    /// contain it.
    fn check_names(&self, place: &Place) -> Result<(), Fault> {
        self.names.iter().try_for_each(|(_, value)| self.limits().check(value, place))
    }

    fn put_into(
        &mut self,
        name: &str,
        path: &[Located],
        last: &Located,
        value: Located,
        place: &Place,
    ) -> Result<(), Fault> {
        let unknown = || self.refuse_at(place, &format!("{name} has no value here"));
        let mut target = self.variable(name).ok_or_else(unknown)?;
        for key in path {
            target = super::expression::item(&target, key)?;
        }
        match (&target.value, &last.value) {
            (Value::Dict(entries), Value::Text(key)) => {
                put(&mut entries.borrow_mut(), key.clone(), value);
                Ok(())
            }
            (Value::List(items), Value::Int(index)) => {
                let mut items = items.borrow_mut();
                let place = position(*index, items.len()).map(|index| &mut items[index]);
                *place.ok_or_else(|| last.fault("there is no such item"))? = value;
                Ok(())
            }
            (target, key) => {
                let (of, by) = (target.kind(), key.kind());
                Err(last.fault(format!("{of} has no items by {by}")))
            }
        }
    }

    /// Reads `import a.b as c`. The bound name stands for a module of which only the name is known.
    fn import_modules(&mut self) -> Result<(), Fault> {
        self.advance();
        let module = self.module()?;
        let bound = if self.take_word("as") { self.name()? } else { first_part(&module) };
        self.bind_name(&bound);
        self.end_of_line()
    }

    /// Reads `with read_base():` and the imports below it, which include the modules that they
    /// name.
    fn includes(&mut self) -> Result<(), Fault> {
        let place = self.place();
        self.advance();
        let is_read_base = self.take_word("read_base") && self.take("(") && self.take(")");
        if !is_read_base || !self.take(":") {
            return Err(self.refuse_at(&place, "of with, only \"with read_base():\" is understood"));
        }
        if !matches!(self.kind(), Kind::Line(_)) {
            return self.import(true);
        }
        loop {
            match (self.kind(), self.next_kind()) {
                (Kind::Line(_), Kind::Line(_) | Kind::End) => self.advance(),
                (Kind::Line(0) | Kind::End, _) => return Ok(()),
                (Kind::Line(_), Kind::Name(word)) if word == "from" => {
                    self.advance();
                    self.import(true)?;
                }
                _ => {
                    self.advance();
                    let why = "only \"from … import …\" may stand under read_base()";
                    return Err(self.refuse(why));
                }
            }
        }
    }

    /// Reads `from module import a, b as c`. If the module is included, its values are bound;
    /// otherwise only names are.
    fn import(&mut self, included: bool) -> Result<(), Fault> {
        let place = self.place();
        self.advance();
        let module = self.module()?;
        if !self.take_word("import") {
            return Err(self.refuse("\"import\" is expected here"));
        }
        let values = if included { Some(self.included(&module, &place)?) } else { None };
        if self.take("*") {
            for (name, value) in values.into_iter().flatten() {
                put(&mut self.names, name, value);
            }
            return self.end_of_line();
        }
        let in_brackets = self.take("(");
        loop {
            let name = self.name()?;
            let bound = if self.take_word("as") { self.name()? } else { name.clone() };
            match &values {
                None => self.bind_name_to(bound, &name),
                Some(values) => {
                    let found = values.iter().find(|(key, _)| *key == name);
                    let (_, value) = found
                        .ok_or_else(|| place.fault(format!("{module} has no {name} to import")))?;
                    put(&mut self.names, bound, value.clone());
                }
            }
            let goes_on = self.take(",");
            if in_brackets && self.take(")") || !goes_on {
                return self.end_of_line();
            }
        }
    }

    fn included(&self, module: &str, place: &Place) -> Result<Dict, Fault> {
        self.library.module(module, &self.trail, place)
    }

    /// Reads the name of a module, such as `..a.b`.
    fn module(&mut self) -> Result<String, Fault> {
        let mut module = String::new();
        while self.take(".") {
            module.push('.');
        }
        while let Kind::Name(part) = self.kind() {
            if part == "import" {
                break;
            }
            self.advance();
            module.push_str(&part);
            if !self.take(".") {
                break;
            }
            module.push('.');
        }
        if module.is_empty() { Err(self.refuse("a module is expected here")) } else { Ok(module) }
    }

    fn bind_name(&mut self, name: &str) {
        self.bind_name_to(name.to_owned(), name);
    }

    fn bind_name_to(&mut self, bound: String, name: &str) {
        let value = Located { value: Value::Name(name.to_owned()), place: self.place() };
        put(&mut self.names, bound, value);
    }

    /// Returns the value of a variable. A list or a dict keeps the position at which it was
    /// written; any other value gets the current position, where it is used.
    pub(super) fn variable(&self, name: &str) -> Option<Located> {
        let value =
            self.names.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())?;
        Some(match value.value {
            Value::List(_) | Value::Dict(_) => value,
            _ => value.at(&self.place()),
        })
    }
}

fn first_part(module: &str) -> String {
    module.split('.').next().unwrap_or_default().to_owned()
}

pub(super) const KEYWORDS: [&str; 17] = [
    "and", "assert", "async", "class", "def", "del", "else", "for", "global", "if", "in", "lambda",
    "or", "raise", "return", "try", "while",
];
