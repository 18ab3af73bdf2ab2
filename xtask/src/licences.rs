//! Checks that each dependency has a licence that `deny.toml` allows.
//!
//! cargo-deny checks this too. This check needs no further program, so that each change passes it.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::metadata::{graph, host, root};
use crate::toml_file;

/// Checks the licences of all packages that the workspace is built from on this machine.
pub(crate) fn check() -> anyhow::Result<()> {
    let allowed = Allowed::parse(&std::fs::read_to_string(root().join("deny.toml"))?)?;
    let graph = graph(&host()?)?;
    let packages = graph["packages"].as_array().context("cargo metadata lists no packages")?;
    let faults: Vec<String> =
        packages.iter().filter_map(|package| allowed.fault(package)).collect();
    ensure!(
        faults.is_empty(),
        "deny.toml does not allow these licences:\n  {}",
        faults.join("\n  ")
    );
    Ok(())
}

/// Licences that dependencies may have.
#[derive(Debug, Default)]
struct Allowed {
    /// Licences of any package, as SPDX names them.
    any: Vec<String>,
    /// Further licences of single packages.
    exceptions: BTreeMap<String, Vec<String>>,
}

impl Allowed {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let file = toml_file::parse(text)?;
        let licences = &file["licenses"];
        ensure!(licences.is_object(), "deny.toml has no licenses");
        let exceptions = licences["exceptions"].as_array().into_iter().flatten();
        let exceptions = exceptions.filter_map(|exception| {
            Some((exception["crate"].as_str()?.to_owned(), names(&exception["allow"])))
        });
        Ok(Self { any: names(&licences["allow"]), exceptions: exceptions.collect() })
    }

    /// Returns what is wrong with the licence of a package, if anything is.
    fn fault(&self, package: &Value) -> Option<String> {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        let further = self.exceptions.get(name);
        let is_allowed = |licence: &str| {
            let mut all = self.any.iter().chain(further.into_iter().flatten());
            all.any(|allowed| allowed == licence)
        };
        let is_met = Expression::new(licence).alternatives(&is_allowed);
        (is_met != Some(true)).then(|| format!("{name}: {licence:?}"))
    }
}

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// A licence expression of SPDX, read from its beginning on: `MIT OR (Apache-2.0 AND ISC)`.
struct Expression<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Expression<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            words.extend(word.split_inclusive(['(', ')', '/']).flat_map(|part| {
                let at = part.len() - usize::from(part.ends_with(['(', ')', '/']));
                [&part[..at], &part[at..]]
            }));
        }
        words.retain(|word| !word.is_empty());
        words.reverse();
        Self { rest: words }
    }

    /// Returns whether the licences that are allowed meet the expression; `None` if it is not one.
    fn alternatives(mut self, is_allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        let is_met = self.either(is_allowed)?;
        self.rest.is_empty().then_some(is_met)
    }

    fn either(&mut self, is_allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        let mut is_met = self.both(is_allowed)?;
        // Older manifests have a slash between alternatives.
        while self.next_is("OR") || self.next_is("/") {
            is_met |= self.both(is_allowed)?;
        }
        Some(is_met)
    }

    fn both(&mut self, is_allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        let mut is_met = self.single(is_allowed)?;
        while self.next_is("AND") {
            is_met &= self.single(is_allowed)?;
        }
        Some(is_met)
    }

    fn single(&mut self, is_allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        if self.next_is("(") {
            let is_met = self.either(is_allowed)?;
            return self.next_is(")").then_some(is_met);
        }
        let licence = self.rest.pop().filter(|word| !WORDS.contains(word))?;
        if self.next_is("WITH") {
            let exception = self.rest.pop().filter(|word| !WORDS.contains(word))?;
            return Some(is_allowed(&format!("{licence} WITH {exception}")));
        }
        Some(is_allowed(licence))
    }

    fn next_is(&mut self, word: &str) -> bool {
        self.rest.pop_if(|next| *next == word).is_some()
    }
}

/// Words of an expression that are not licences.
const WORDS: [&str; 6] = ["(", ")", "/", "AND", "OR", "WITH"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENY: &str = "[licenses]\nallow = [\"MIT\", \"ISC\", \"GPL-2.0 WITH Font\"]\n\
                        exceptions = [{ crate = \"audio\", allow = [\"MPL-2.0\"] }]\n";

    #[track_caller]
    fn check(name: &str, licence: &str, is_allowed: bool) {
        let allowed = Allowed::parse(DENY).unwrap();
        let fault = allowed.fault(&json!({"name": name, "license": licence}));
        assert_eq!(fault.is_none(), is_allowed, "{fault:?}");
    }

    #[test]
    fn expressions_are_met_by_allowed_licences() {
        check("a", "MIT", true);
        check("a", "Apache-2.0 OR MIT", true);
        check("a", "Apache-2.0/MIT", true);
        check("a", "Apache-2.0 / MIT", true);
        check("a", "(Apache-2.0 OR MIT) AND ISC", true);
        check("a", "GPL-2.0 WITH Font", true);
    }

    #[test]
    fn other_licences_are_faults() {
        check("a", "Apache-2.0", false);
        check("a", "MIT AND Apache-2.0", false);
        check("a", "GPL-2.0", false);
        check("a", "", false);
        check("a", "MIT OR", false);
        check("a", "(MIT", false);
        check("a", "MIT ISC", false);
    }

    #[test]
    fn an_exception_is_for_its_package_alone() {
        check("audio", "MPL-2.0", true);
        check("audio", "MIT", true);
        check("a", "MPL-2.0", false);
    }

    #[test]
    fn the_dependencies_have_allowed_licences() {
        super::check().unwrap();
    }
}
