//! An exporter of metrics: the texts of real servers, with numbers that change.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Answers requests on a free port, whose address it writes to `out`, until the process is ended.
/// From one answer to the next, `changing` percent of the numbers change.
pub fn export(changing: u32, out: &mut dyn Write) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    let texts: Arc<Vec<Vec<String>>> =
        Arc::new(TEXTS.iter().map(|text| versions(text, changing)).collect());
    for socket in listener.incoming() {
        let (socket, texts) = (socket?, Arc::clone(&texts));
        // A broken connection affects no other connection.
        thread::spawn(move || drop(serve(socket, &texts)));
    }
    Ok(())
}

/// Returns a text of which `changing` percent of the numbers, spread evenly over the text, rise from
/// one version to the next.
fn versions(text: &str, changing: u32) -> Vec<String> {
    let risen = |version: u32| {
        let mut risen = String::with_capacity(text.len() + text.len() / 4);
        // Whole hundreds are numbers that change.
        let mut percent = 0;
        for line in text.lines() {
            let number = line.rsplit_once(' ').filter(|_| !line.starts_with('#'));
            let number = number.and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
            percent += if number.is_some() { changing } else { 0 };
            let number = number.filter(|_| percent >= 100);
            percent %= 100;
            // Writing to a `String` cannot fail.
            let _ = match number {
                Some((name, value)) => writeln!(risen, "{name} {}", value + f64::from(version)),
                None => writeln!(risen, "{line}"),
            };
        }
        risen
    };
    (0..VERSIONS).map(risen).collect()
}

fn serve(mut socket: TcpStream, texts: &[Vec<String>]) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (mut asked, mut buffer, mut head) = (0, [0; 4096], Vec::new());
    loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&buffer[..count]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let path = String::from_utf8_lossy(&head);
        let number: usize = path
            .split_whitespace()
            .nth(1)
            .and_then(|path| path.trim_start_matches('/').parse().ok())
            .unwrap_or_default();
        let versions = &texts[number % texts.len()];
        let text = &versions[asked % versions.len()];
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        socket.write_all(answer.as_bytes())?;
        head.clear();
        asked += 1;
    }
}

/// Texts of real servers.
const TEXTS: [&str; 3] = [
    include_str!("../../../fixtures/exposition/vllm-0.32.0.metrics.txt"),
    include_str!("../../../fixtures/exposition/sglang-0.5.23.metrics.txt"),
    include_str!("../../../fixtures/exposition/llamacpp-xllamacpp-2026.10.11549.metrics.txt"),
];

const VERSIONS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_numbers_changes() {
        let text = "# TYPE a gauge\na 1\nb 2\nc 3\nd 4\n";
        let changed = |changing: u32| {
            let versions = versions(text, changing);
            let lines = versions[1].lines().zip(versions[2].lines());
            lines.filter(|(one, other)| one != other).count()
        };
        assert_eq!([0, 25, 50, 100].map(changed), [0, 1, 2, 4]);
    }
}
