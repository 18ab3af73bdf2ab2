//! The result of checks in words.

/// Formats the number of failed checks.
pub(super) fn verdict(faults: &[String]) -> String {
    match faults.len() {
        0 => "ok".to_owned(),
        1 => "1 check failed".to_owned(),
        many => format!("{many} checks failed"),
    }
}
