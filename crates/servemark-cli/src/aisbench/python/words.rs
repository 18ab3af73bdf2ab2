//! Access to the tokens of a config file, and errors about those that do not fit.

use super::reader::{KEYWORDS, Reader};
use super::token::Kind;
use super::value::{Fault, Place};

impl Reader<'_> {
    pub(super) fn kind(&self) -> Kind {
        self.tokens[self.at].kind.clone()
    }

    pub(super) fn next_kind(&self) -> Kind {
        self.tokens.get(self.at + 1).map_or(Kind::End, |token| token.kind.clone())
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn place(&self) -> Place {
        Place { line: self.tokens[self.at].line, ..self.file.clone() }
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(&self.tokens[self.at].kind, Kind::Sign(found) if *found == sign)
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn take_one_of(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let sign = signs.iter().copied().find(|sign| self.is(sign))?;
        self.advance();
        Some(sign)
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(&self.tokens[self.at].kind, Kind::Name(name) if name == word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn name(&mut self) -> Result<String, Fault> {
        match self.kind() {
            Kind::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.refuse("a name is expected here")),
        }
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.take(sign) { Ok(()) } else { Err(self.refuse(&format!("{sign} is expected here"))) }
    }

    /// Skips a comma, or checks that the closing bracket follows. Refuses any other token.
    pub(super) fn comma_or(&mut self, close: &str) -> Result<(), Fault> {
        if self.take(",") || self.is(close) {
            return Ok(());
        }
        let is_code = matches!(self.kind(), Kind::Name(word) if KEYWORDS.contains(&word.as_str()));
        let why = if is_code { "this is code, not data" } else { "a comma is expected here" };
        Err(self.refuse(why))
    }

    pub(super) fn skip_to(&mut self, sign: &str) -> Result<(), Fault> {
        let mut open = 1;
        while open > 0 {
            match self.kind() {
                Kind::Sign("[") => open += 1,
                Kind::Sign("]") => open -= 1,
                Kind::End => return Err(self.refuse(&format!("{sign} is missing"))),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// Returns whether the brackets that open at the current token form a tuple: they contain a
    /// comma outside of inner brackets, or nothing at all.
    pub(super) fn holds_comma(&self) -> bool {
        let mut depth = 0;
        for (index, token) in self.tokens[self.at..].iter().enumerate() {
            match token.kind {
                Kind::Sign("(" | "[" | "{") => depth += 1,
                Kind::Sign(")") if depth == 1 => return index == 1,
                Kind::Sign(")" | "]" | "}") => depth -= 1,
                Kind::Sign(",") if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }

    pub(super) fn end_of_line(&mut self) -> Result<(), Fault> {
        match self.kind() {
            Kind::Line(_) | Kind::End | Kind::Sign(";") => Ok(()),
            _ => Err(self.refuse("the statement goes on with what is not data")),
        }
    }

    /// Returns an error at the current token, with the text of its line.
    pub(super) fn refuse(&self, why: &str) -> Fault {
        self.refuse_at(&self.place(), why)
    }

    pub(super) fn refuse_at(&self, place: &Place, why: &str) -> Fault {
        let line = place.line.checked_sub(1).and_then(|line| self.lines.get(line));
        let line = line.filter(|_| place.file == self.file.file).map_or("", |line| line.trim());
        let line: String = line.chars().take(MAX_SHOWN_CHARS).collect();
        place.fault(if line.is_empty() { why.to_owned() } else { format!("{why}: {line}") })
    }
}

/// Maximum number of characters of a line that an error shows.
const MAX_SHOWN_CHARS: usize = 160;
