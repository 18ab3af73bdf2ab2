//! The container image: its root file system, which has the program and what it reads of a system,
//! and nothing else.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::archive::Tree;
use super::{PROGRAM, Release, THIRD_PARTY, write as write_file};
use crate::check::announce;
use crate::metadata::{host, root};

/// User and group of the image's process.
const USER: u32 = 65532;

/// Maximum size of the root file system of a release, in bytes.
const LARGEST: usize = 26_000_000;

/// Files that systems keep the certificates of authorities in.
const CERTIFICATES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Writes the root file system and the `Containerfile` that an image is built from, and runs the
/// program in the root file system if this process may.
pub(super) fn write(release: &Release, third_party: &str, folder: &Path) -> anyhow::Result<()> {
    let certificates = CERTIFICATES.iter().find_map(|path| std::fs::read(path).ok());
    let certificates = certificates.context("no certificates: install ca-certificates")?;
    let tree = file_system(release, third_party, certificates);
    let tar = tree.tar(release.date)?;
    ensure!(tar.len() <= LARGEST, "the image has {} bytes, more than {LARGEST}", tar.len());
    let name = format!("rootfs-{}.tar", release.architecture()?);
    write_file(folder, &name, &tar)?;
    let containerfile = std::fs::read(root().join("packaging/Containerfile"))?;
    write_file(folder, "Containerfile", &containerfile)?;
    if release.target.split('-').next() == host()?.split('-').next() {
        try_program(&folder.join(name))?;
    }
    Ok(())
}

fn file_system(release: &Release, third_party: &str, certificates: Vec<u8>) -> Tree {
    let mut tree = Tree::default();
    tree.add_folder("tmp", 0o1777, 0);
    tree.add_folder("work", 0o755, USER);
    tree.add_program(format!("usr/bin/{PROGRAM}"), release.program.clone());
    tree.add_file("etc/ssl/certs/ca-certificates.crt".to_owned(), certificates);
    let user = format!("{PROGRAM}:x:{USER}:{USER}::/work:/usr/bin/{PROGRAM}\n");
    tree.add_file("etc/passwd".to_owned(), user.into_bytes());
    tree.add_file("etc/group".to_owned(), format!("{PROGRAM}:x:{USER}:\n").into_bytes());
    tree.add_file(THIRD_PARTY.to_owned(), third_party.into());
    tree.with_parents()
}

/// Unpacks the root file system, and runs the program in it as the image's user: it prints its
/// version and measures its simulator. Only root may change the root folder of a process.
fn try_program(tar: &Path) -> anyhow::Result<()> {
    let root = tar.with_extension("");
    if root.exists() {
        std::fs::remove_dir_all(&root)?;
    }
    std::fs::create_dir_all(&root)?;
    let root = root.to_string_lossy();
    let run = |program: &str, args: &[&str]| -> anyhow::Result<bool> {
        announce(&format!("+ {program} {}", args.join(" ")));
        let status = Command::new(program).args(args).status();
        Ok(status.with_context(|| format!("cannot run {program}"))?.success())
    };
    ensure!(run("tar", &["-xpf", &tar.to_string_lossy(), "-C", &root])?, "tar failed");
    let user = format!("--userspec={USER}:{USER}");
    let program = format!("/usr/bin/{PROGRAM}");
    if !run("chroot", &[&user, &root, &program, "--version"])? {
        ensure!(!is_root()?, "the program does not run in its root file system");
        announce("the program was not run in its root file system: only root may change the root");
        return Ok(());
    }
    // A container has these devices from its runtime; a program with the GNU C library reads them.
    std::fs::create_dir_all(format!("{root}/dev"))?;
    for (name, minor) in [("random", "8"), ("urandom", "9")] {
        let device = format!("{root}/dev/{name}");
        ensure!(run("mknod", &["-m", "666", &device, "c", "1", minor])?, "mknod failed");
    }
    let bench = ["bench-serving", "--simulate", "--num-prompts", "16", "--request-rate", "64"];
    let bench = [
        &[&*user, &root, &program],
        &bench[..],
        &["--run-log", "/work/results.runlog.jsonl", "--output-file", "/work/results.jsonl"],
    ]
    .concat();
    ensure!(run("chroot", &bench)?, "a benchmark fails in the root file system");
    Ok(())
}

/// Returns whether this process belongs to root.
fn is_root() -> anyhow::Result<bool> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    Ok(output.stdout == b"0\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::tests::release;

    #[test]
    fn the_containerfile_starts_the_program_of_the_file_system_as_its_user() {
        let containerfile =
            std::fs::read_to_string(root().join("packaging/Containerfile")).unwrap();
        for line in [
            "FROM scratch",
            "ADD rootfs-${TARGETARCH}.tar /",
            &format!("USER {USER}:{USER}"),
            "WORKDIR /work",
            &format!("ENTRYPOINT [\"/usr/bin/{PROGRAM}\"]"),
        ] {
            assert!(containerfile.lines().any(|found| found == line), "{line}");
        }
        let tar = file_system(&release(), "crates\n", b"certificates".to_vec()).tar(0).unwrap();
        let names: Vec<&str> = (tar.chunks(512))
            .filter(|block| block[257..].starts_with(b"ustar"))
            .map(|block| std::str::from_utf8(&block[..100]).unwrap().trim_end_matches('\0'))
            .collect();
        for name in ["work/", "tmp/", "usr/bin/servemark", "etc/ssl/certs/ca-certificates.crt"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
    }
}
