//! OpenAI's own Python package against the server, where it is installed.
//!
//! `SERVEMARK_SDK_PYTHON` names a Python that has the package `openai`; otherwise `python3` is tried,
//! and where that has it not, the test says on standard error that it was left out.

use std::env;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::client::start;

const SCRIPT: &str = include_str!("sdk.py");

#[expect(
    clippy::disallowed_methods,
    reason = "the variable chooses what is tested, nothing that is measured"
)]
#[test]
fn openais_python_package_accepts_every_answer() {
    let named = env::var("SERVEMARK_SDK_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    if !has_package(&python) {
        assert!(named.is_none(), "SERVEMARK_SDK_PYTHON={python} cannot import openai");
        // Written past the test harness, which shows nothing of a test that passes.
        let left_out = "left out: openai's package was not tested, because python3 has it not; name \
                        a Python that has it with SERVEMARK_SDK_PYTHON";
        return writeln!(io::stderr(), "{left_out}").unwrap();
    }
    let lenient = start(|spec| spec.model = "org/m".into());
    let strict = start(|spec| (spec.model, spec.strict_model) = ("org/m".into(), true));
    let output = Command::new(&python)
        .args(["-c", SCRIPT, &lenient.base_url(), &strict.base_url()])
        .output()
        .unwrap();
    let (said, failed) = (utf8(&output.stdout), utf8(&output.stderr));
    assert!(output.status.success() && said.trim_end() == "accepted", "{said}\n{failed}");
}

fn has_package(python: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import openai"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
