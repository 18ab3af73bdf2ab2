//! Splits a command into words as a shell does, like Python's `shlex.split`.

/// Splits a command into words. The error messages are Python's.
pub(super) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Words::default();
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' | '\t' | '\r' | '\n' => words.end(),
            '\'' => quoted(&mut signs, words.word())?,
            '"' => double_quoted(&mut signs, words.word())?,
            '\\' => words.word().push(signs.next().ok_or("No escaped character")?),
            sign => words.word().push(sign),
        }
    }
    words.end();
    Ok(words.done)
}

/// The complete words, and the current incomplete one.
#[derive(Default)]
struct Words {
    done: Vec<String>,
    begun: Option<String>,
}

impl Words {
    fn word(&mut self) -> &mut String {
        self.begun.get_or_insert_default()
    }

    fn end(&mut self) {
        self.done.extend(self.begun.take());
    }
}

fn quoted(signs: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match signs.next().ok_or("No closing quotation")? {
            '\'' => return Ok(()),
            sign => word.push(sign),
        }
    }
}

/// Reads text between double quotes. A backslash is literal unless a quote or a backslash follows.
fn double_quoted(
    signs: &mut impl Iterator<Item = char>,
    word: &mut String,
) -> Result<(), &'static str> {
    loop {
        match signs.next().ok_or("No closing quotation")? {
            '"' => return Ok(()),
            '\\' => match signs.next().ok_or("No escaped character")? {
                sign @ ('"' | '\\') => word.push(sign),
                sign => word.extend(['\\', sign]),
            },
            sign => word.push(sign),
        }
    }
}
