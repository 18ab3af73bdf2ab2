//! An exporter of metrics: the texts of real servers, with numbers that change.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::expositions::{versions, with_names};

/// Answers requests on a free port, whose address it writes to `out`, until the process is ended.
/// From one answer to the next, `changing` percent of the numbers change.
pub fn export(changing: u32, out: &mut dyn Write) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    let texts: Arc<Vec<Vec<String>>> =
        Arc::new(SERVERS.iter().map(|(text, _)| versions(text, changing)).collect());
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
    // The query of the request before, and the answers to it.
    let (mut last_query, mut filtered) = (String::new(), Vec::new());
    loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&buffer[..count]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let head_text = String::from_utf8_lossy(&head);
        let target = head_text.split_whitespace().nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let number: usize = path.trim_matches('/').parse().unwrap_or_default();
        let place = number % texts.len();
        if query != last_query {
            query.clone_into(&mut last_query);
            filtered =
                texts[place].iter().map(|text| SERVERS[place].1.answer(text, query)).collect();
        }
        let versions = if query.is_empty() { &texts[place] } else { &filtered };
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

/// What a server does if it is asked for lines with some names alone.
enum Filter {
    /// It sends these, as Python's library for Prometheus does.
    Names,
    /// It sends nothing, as that library does where several processes count.
    Nothing,
    /// It sends all.
    Ignored,
}

impl Filter {
    fn answer(&self, text: &str, query: &str) -> String {
        match self {
            Self::Names => {
                let names: Vec<&str> =
                    query.split('&').filter_map(|pair| pair.strip_prefix("name%5B%5D=")).collect();
                with_names(text, &names)
            }
            Self::Nothing => String::new(),
            Self::Ignored => text.to_owned(),
        }
    }
}

/// Texts of real servers.
const SERVERS: [(&str, Filter); 3] = [
    (include_str!("../../../fixtures/exposition/vllm-0.32.0.metrics.txt"), Filter::Names),
    (include_str!("../../../fixtures/exposition/sglang-0.5.23.metrics.txt"), Filter::Nothing),
    (
        include_str!("../../../fixtures/exposition/llamacpp-xllamacpp-2026.10.11549.metrics.txt"),
        Filter::Ignored,
    ),
];
