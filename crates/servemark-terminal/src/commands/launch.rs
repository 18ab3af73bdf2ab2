//! Starts a command on several machines, which share its load.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use servemark::ExitCode;
use servemark_cli::LaunchArgs;

use super::starter;
use crate::screen;

/// Starts the command on every host and waits for all of them.
pub(crate) fn launch(args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    let broker = match &args.coordinator {
        Some(_) => None,
        None => Some(Broker::start(args)?),
    };
    let url = args.coordinator.clone().or_else(|| broker.as_ref().map(|broker| broker.url.clone()));
    let url = url.unwrap_or_default();
    let ranks: Vec<Rank> = (0..args.hosts.len())
        .map(|rank| Rank::start(args, &url, rank))
        .collect::<anyhow::Result<_>>()?;
    let codes: Vec<i32> = ranks.into_iter().map(Rank::wait).collect::<anyhow::Result<_>>()?;
    let lead = codes.first().copied().unwrap_or_default();
    let worst = codes.into_iter().max().unwrap_or_default();
    Ok(exit_code(if lead == 0 { worst } else { lead }))
}

/// Returns the exit code with this number; that of a failed program if it is not one of ours, such
/// as that of ssh.
fn exit_code(code: i32) -> ExitCode {
    let known = [
        ExitCode::Ok,
        ExitCode::Internal,
        ExitCode::Usage,
        ExitCode::GateFailed,
        ExitCode::NotReady,
        ExitCode::TooManyFailed,
        ExitCode::Undecided,
        ExitCode::HungUp,
        ExitCode::Interrupted,
        ExitCode::Terminated,
    ];
    known.into_iter().find(|known| *known as i32 == code).unwrap_or(ExitCode::Internal)
}

/// The command on one host.
struct Rank {
    host: String,
    child: Child,
    /// Threads that pass on what it prints.
    printing: Vec<JoinHandle<()>>,
}

impl Rank {
    fn start(args: &LaunchArgs, url: &str, rank: usize) -> anyhow::Result<Self> {
        let host = args.hosts[rank].clone();
        let world = args.hosts.len().to_string();
        let own = ["--coordinator", url, "--world", &world, "--rank", &rank.to_string()];
        let words = args.command.iter().map(String::as_str).chain(own);
        let mut command = if is_here(&host) {
            let mut command = starter::command()?;
            command.args(words);
            command
        } else {
            let mut ssh = args.ssh.split_whitespace();
            let Some(program) = ssh.next() else { bail!("argument --ssh: is empty") };
            let mut command = Command::new(program);
            let remote: Vec<String> =
                std::iter::once(args.program.as_str()).chain(words).map(quoted).collect();
            command.args(ssh).arg(&host).arg(remote.join(" "));
            command
        };
        command.stdin(Stdio::null());
        if rank > 0 {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut child = command.spawn().with_context(|| {
            format!("cannot start the command on {host} ({})", command.get_program().display())
        })?;
        let label = format!("[{host}]");
        let pass_on = |from: Option<Box<dyn Read + Send>>| {
            let label = label.clone();
            from.map(|from| thread::spawn(move || print_lines(from, &label)))
        };
        let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>);
        let err = child.stderr.take().map(|err| Box::new(err) as Box<dyn Read + Send>);
        let printing = [pass_on(out), pass_on(err)].into_iter().flatten().collect();
        Ok(Self { host, child, printing })
    }

    /// Waits for the end of the command and returns its exit code.
    fn wait(mut self) -> anyhow::Result<i32> {
        let status = self.child.wait()?;
        for thread in self.printing {
            // A thread that panicked has only lost lines.
            let _ = thread.join();
        }
        let code = status.code().unwrap_or(ExitCode::Internal as i32);
        if code != 0 {
            screen::eprint_line(&format!("[{}] ended with exit code {code}", self.host));
        }
        Ok(code)
    }
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    ["localhost", "127.0.0.1"].contains(&host)
}

/// Prints the lines of a rank behind the name of its host.
fn print_lines(from: impl Read, label: &str) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        screen::eprint_line(&format!("{label} {line}"));
    }
}

/// Quotes a word for the shell of another machine.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A NATS server for the time of the command.
struct Broker {
    child: Child,
    url: String,
}

impl Broker {
    fn start(args: &LaunchArgs) -> anyhow::Result<Self> {
        let all_here = args.hosts.iter().all(|host| is_here(host));
        let address = if all_here { "127.0.0.1".to_owned() } else { "0.0.0.0".to_owned() };
        let host = if all_here { address.clone() } else { servemark::host_name() };
        // Another program may take the port meanwhile; nats-server then ends, and the ranks say so.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut command = Command::new("nats-server");
        command.args(["--addr", &address, "--port", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context(
            "nats-server does not start: install it (Debian: apt-get install nats-server), or give \
             the URL of a running one with --coordinator",
        )?;
        Ok(Self { child, url: format!("nats://{host}:{port}") })
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell_of_another_machine() {
        assert_eq!(quoted("--base-url"), "--base-url");
        assert_eq!(quoted("http://a:80/v1"), "http://a:80/v1");
        for word in ["", "a b", "it's", "$HOME", "a;b", "{\"x\": 1}", "*"] {
            let out =
                Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8(out.unwrap().stdout).unwrap(), word);
        }
    }
}
