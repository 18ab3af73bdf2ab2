//! Web pages in place of answers.

/// What a web page in place of an answer may mean.
pub(crate) const HINT: &str = ", but with a web page: is this the address of the engine, and not \
                               of a proxy or a web interface?";
