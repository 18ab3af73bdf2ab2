//! A naive reference parser: the standard's steps over a whole stream, with copies of everything.

use super::{Outcome, Owned};

pub(super) fn parse(stream: &[u8]) -> Outcome {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let (lines, open_line) = split_lines(stream);
    let (mut events, mut pending, mut has_data) = (Vec::new(), Owned::default(), false);
    for line in lines {
        if !line.is_empty() {
            field(&mut pending, &mut has_data, &line);
            continue;
        }
        if has_data {
            events.push(pending.clone());
        }
        pending = Owned { id: pending.id, ..Owned::default() };
        has_data = false;
    }
    if !open_line.is_empty() {
        field(&mut pending, &mut has_data, &open_line);
    }
    let something_left = has_data || !open_line.is_empty();
    let unfinished = something_left.then(|| (has_data.then_some(pending), open_line));
    Outcome { events, unfinished }
}

fn split_lines(stream: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut lines, mut line, mut previous) = (Vec::new(), Vec::new(), 0);
    for &byte in stream {
        match byte {
            b'\n' if previous == b'\r' => {}
            b'\n' | b'\r' => lines.push(std::mem::take(&mut line)),
            _ => line.push(byte),
        }
        previous = byte;
    }
    (lines, line)
}

fn field(pending: &mut Owned, has_data: &mut bool, line: &[u8]) {
    let colon = line.iter().position(|byte| *byte == b':');
    let name = &line[..colon.unwrap_or(line.len())];
    let value = colon.map_or(&b""[..], |colon| &line[colon + 1..]);
    let value = if value.first() == Some(&b' ') { &value[1..] } else { value };
    match name {
        b"data" if *has_data => pending.data = [&pending.data, &b"\n"[..], value].concat(),
        b"data" => (pending.data, *has_data) = (value.to_vec(), true),
        b"event" => pending.event = value.to_vec(),
        b"id" if !value.contains(&0) => pending.id = value.to_vec(),
        b"retry" if value.iter().all(u8::is_ascii_digit) => {
            let digits = String::from_utf8(value.to_vec()).expect("digits are text");
            pending.retry = digits.parse().ok().or(pending.retry);
        }
        _ => {}
    }
}
