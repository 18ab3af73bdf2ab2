//! An exporter of metrics: the texts of real servers, with numbers that change.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::expositions::versions;

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
