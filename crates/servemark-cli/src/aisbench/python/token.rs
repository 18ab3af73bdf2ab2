//! Splits Python into tokens: names, numbers, strings and signs, line by line.

use super::value::{Fault, Place};

/// A token and its one-based line number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(String),
    Int(i64),
    Float(f64),
    Text(String),
    Sign(&'static str),
    /// The end of a line outside of brackets, with the indentation of the next line in characters.
    Line(usize),
    End,
}

/// Signs of Python, longer ones before those that they begin with.
const SIGNS: [&str; 24] = [
    "**", "//", "+=", "==", "!=", "->", ":=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+",
    "-", "*", "/", ".", "|", ";", "@",
];

/// Splits a file into tokens.
pub(super) fn tokens(text: &str, file: &Place) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer { rest: text, line: 1, depth: 0, tokens: Vec::new(), file };
    while lexer.step()? {}
    lexer.push(Kind::Line(0));
    lexer.push(Kind::End);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    /// Number of brackets that are open.
    depth: usize,
    tokens: Vec<Token>,
    file: &'a Place,
}

impl Lexer<'_> {
    /// Reads one token, comment or end of a line. Returns `false` at the end of the file.
    fn step(&mut self) -> Result<bool, Fault> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\u{c}', '\u{feff}']);
        let Some(sign) = self.rest.chars().next() else { return Ok(false) };
        match sign {
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '\n' => self.end_line(),
            '\\' if self.rest.starts_with("\\\n") || self.rest.starts_with("\\\r\n") => {
                self.skip(self.rest.find('\n').unwrap_or_default() + 1);
                self.line += 1;
            }
            '0'..='9' => self.number()?,
            '.' if self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                self.number()?;
            }
            '"' | '\'' => self.string(false)?,
            _ if is_word(sign) => self.word()?,
            _ => self.sign()?,
        }
        Ok(true)
    }

    fn end_line(&mut self) {
        self.skip(1);
        if self.depth == 0 {
            let indent = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
            self.push(Kind::Line(indent));
        }
        self.line += 1;
    }

    fn number(&mut self) -> Result<(), Fault> {
        let is_part = |(at, sign): (usize, char)| {
            let after_exponent = at > 0 && matches!(self.rest.as_bytes()[at - 1], b'e' | b'E');
            let is_hex = self.rest.starts_with("0x") || self.rest.starts_with("0X");
            is_word(sign) || sign == '.' || matches!(sign, '+' | '-') && after_exponent && !is_hex
        };
        let parts = self.rest.char_indices().take_while(|part| is_part(*part));
        let length = parts.map(|(_, sign)| sign.len_utf8()).sum();
        let text = self.rest[..length].replace('_', "");
        let kind = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(hex) => i64::from_str_radix(hex, 16).ok().map(Kind::Int),
            None => match text.parse() {
                Ok(whole) => Some(Kind::Int(whole)),
                Err(_) => text.parse().ok().map(Kind::Float),
            },
        };
        let kind = kind.ok_or_else(|| self.fault(format!("{text} is no number")))?;
        self.push(kind);
        self.skip(length);
        Ok(())
    }

    /// Reads a name, or a string with a prefix such as `r`.
    fn word(&mut self) -> Result<(), Fault> {
        let length = self.rest.find(|sign| !is_word(sign)).unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at(length);
        if behind.starts_with(['"', '\'']) && word.len() <= 2 {
            return match word.to_ascii_lowercase().as_str() {
                "r" | "u" => {
                    let is_raw = word.eq_ignore_ascii_case("r");
                    self.skip(length);
                    self.string(is_raw)
                }
                _ => {
                    Err(self.fault(format!("{word}{}…: only plain strings are data", &behind[..1])))
                }
            };
        }
        let name = word.to_owned();
        self.push(Kind::Name(name));
        self.skip(length);
        Ok(())
    }

    fn string(&mut self, is_raw: bool) -> Result<(), Fault> {
        let quote = &self.rest[..1];
        let triple = quote.repeat(3);
        let mark = if self.rest.starts_with(&triple) { triple } else { quote.to_owned() };
        let body = &self.rest[mark.len()..];
        let mut text = String::new();
        let mut at = 0;
        while !body[at..].starts_with(&mark) {
            let Some(sign) =
                body[at..].chars().next().filter(|sign| *sign != '\n' || mark.len() == 3)
            else {
                return Err(self.fault("a string has no end"));
            };
            let (piece, length) = match sign {
                '\\' => self.escape(&body[at..], is_raw)?,
                other => (Some(other), other.len_utf8()),
            };
            if is_raw && sign == '\\' {
                text.push_str(&body[at..at + length]);
            } else {
                text.extend(piece);
            }
            at += length;
        }
        self.push(Kind::Text(text));
        self.line += body[..at].matches('\n').count();
        self.skip(at + 2 * mark.len());
        Ok(())
    }

    /// Returns the character that a backslash and the text after it stand for, if any, and the
    /// length of both in bytes. In a raw string they stand for themselves.
    fn escape(&self, text: &str, is_raw: bool) -> Result<(Option<char>, usize), Fault> {
        let Some(next) = text[1..].chars().next() else {
            return Err(self.fault("a string has no end"));
        };
        let length = 1 + next.len_utf8();
        let plain = |sign| Ok((Some(sign), length));
        match next {
            _ if is_raw => Ok((None, length)),
            'a' => plain('\u{7}'),
            'b' => plain('\u{8}'),
            'f' => plain('\u{c}'),
            'n' => plain('\n'),
            'r' => plain('\r'),
            't' => plain('\t'),
            'v' => plain('\u{b}'),
            '\\' | '\'' | '"' => plain(next),
            '\n' => Ok((None, length)),
            'x' => self.coded(text, 2),
            'u' => self.coded(text, 4),
            'U' => self.coded(text, 8),
            '0'..='7' => Ok(octal(text)),
            'N' => Err(self.fault("\\N in a string is not understood")),
            // Python keeps a backslash that begins no escape sequence.
            _ => Ok((Some('\\'), 1)),
        }
    }

    fn coded(&self, text: &str, digits: usize) -> Result<(Option<char>, usize), Fault> {
        let code = text.get(2..2 + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let sign = code.and_then(char::from_u32);
        let sign = sign.ok_or_else(|| self.fault("an escape in a string is no character"))?;
        Ok((Some(sign), 2 + digits))
    }

    fn sign(&mut self) -> Result<(), Fault> {
        let Some(sign) = SIGNS.into_iter().find(|sign| self.rest.starts_with(sign)) else {
            let character: String = self.rest.chars().take(1).collect();
            return Err(self.fault(format!("{character} is not understood")));
        };
        match sign {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Kind::Sign(sign));
        self.skip(sign.len());
        Ok(())
    }

    fn push(&mut self, kind: Kind) {
        self.tokens.push(Token { kind, line: self.line });
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn fault(&self, why: impl Into<String>) -> Fault {
        Place { line: self.line, ..self.file.clone() }.fault(why)
    }
}

/// Decodes a backslash and up to three octal digits. Returns the character and the length in bytes.
fn octal(text: &str) -> (Option<char>, usize) {
    let digits = text.chars().skip(1).map_while(|digit| digit.to_digit(8)).take(3);
    let (length, code) =
        digits.fold((1, 0), |(length, code), digit| (length + 1, code * 8 + digit));
    (char::from_u32(code), length)
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
