//! The parser of server-sent events alone: bytes in, events out, with any way of reading them.

#![expect(clippy::print_stdout, reason = "an example prints")]

use servemark::sse::Parser;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stream = b"data: {\"n\":1}\n\n: a comment\nevent: done\ndata: line one\ndata: line two\n\n";
    let mut parser = Parser::default();
    // However the stream is cut into reads, the events are the same.
    for read in stream.chunks(7) {
        parser.feed(read, |event| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            println!("{} {:?}", text(event.event()), text(event.data()));
            Ok::<(), std::convert::Infallible>(())
        })?;
    }
    Ok(())
}
