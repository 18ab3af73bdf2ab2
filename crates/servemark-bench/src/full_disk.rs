//! Distinguishes a full disk from a path that the user should change.

use std::io::{self, ErrorKind};

use crate::ExitCode;

/// Returns the exit code for a file that cannot be opened or written. A disk without space and a
/// file size limit are failures of the machine; every other cause is in the path that was given.
pub(crate) fn exit_code_of(error: &io::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ExitCode::Internal
        }
        _ => ExitCode::Usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_usage_error() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert_eq!(exit_code_of(&kind.into()), ExitCode::Internal, "{kind}");
        }
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
            assert_eq!(exit_code_of(&kind.into()), ExitCode::Usage, "{kind}");
        }
    }
}
