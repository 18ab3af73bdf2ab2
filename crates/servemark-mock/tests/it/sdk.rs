//! The official Python packages of OpenAI and Anthropic against the server, where they are
//! installed.
//!
//! `SERVEMARK_SDK_PYTHON` names a Python that has the packages `openai` and `anthropic`; otherwise
//! `python3` is tried. If that does not have a package, its test is skipped with a message on
//! standard error.

use std::env;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::client::start;

#[test]
fn openais_python_package_accepts_every_answer() {
    check("openai", include_str!("sdk.py"));
}

#[test]
fn anthropics_python_package_accepts_every_answer() {
    check("anthropic", include_str!("anthropic_sdk.py"));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variable chooses what is tested, nothing that is measured"
)]
fn check(package: &str, script: &str) {
    let named = env::var("SERVEMARK_SDK_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    if !has_package(&python, package) {
        assert!(named.is_none(), "SERVEMARK_SDK_PYTHON={python} cannot import {package}");
        // Written around the test harness, which hides the output of tests that pass.
        let left_out = format!(
            "left out: the package {package} was not tested, because python3 does not have it; name a \
             Python that has it with SERVEMARK_SDK_PYTHON\n"
        );
        return io::stderr().write_all(left_out.as_bytes()).unwrap();
    }
    let lenient = start(|spec| spec.model = "org/m".into());
    let strict = start(|spec| (spec.model, spec.strict_model) = ("org/m".into(), true));
    let output = Command::new(&python)
        .args(["-c", script, &lenient.base_url(), &strict.base_url()])
        .output()
        .unwrap();
    let (printed, failed) = (utf8(&output.stdout), utf8(&output.stderr));
    assert!(output.status.success() && printed.trim_end() == "accepted", "{printed}\n{failed}");
}

fn has_package(python: &str, package: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {package}")]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
