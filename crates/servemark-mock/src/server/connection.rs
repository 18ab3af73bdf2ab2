//! One connection's life: a request, its answer, the next request.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

use super::reply::{Reply, refusal};
use super::worker::Worker;
use crate::http::{End, Framing, KeepAlive, RequestParser, Wire, document};
use crate::truth::{TruthLog, write_truth};

/// Serves a connection until one side closes it. One that breaks ends nothing but itself.
pub(super) async fn serve(worker: Rc<Worker>, socket: TcpStream) {
    let _ = serve_requests(&worker, &Rc::new(Wire::new(socket))).await;
}

async fn serve_requests(worker: &Worker, wire: &Rc<Wire>) -> io::Result<()> {
    let mut parser = RequestParser::default();
    while let Some(request) = wire.request(&mut parser).await? {
        let reply = match request {
            Ok(request) => worker.reply(&request),
            Err(reason) => refusal(reason),
        };
        send(worker, wire, reply).await?;
        match wire.settled().await? {
            End::Whole => {}
            End::Close => return Ok(()),
            End::Hang => {
                wire.peer_gone().await;
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn send(worker: &Worker, wire: &Rc<Wire>, reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Answer(answer, truth) => worker.pacer.deliver(answer, Rc::clone(wire), truth),
        Reply::Now(bytes, end) => {
            wire.send(&bytes)?;
            wire.finish(end);
        }
        Reply::Truth(keep_alive) => {
            let log = Arc::clone(&worker.logs.truth);
            // On another thread: a long log takes longer to write down than a token to be due.
            let bytes = spawn_blocking(move || truth_document(&log, keep_alive)).await??;
            wire.send(&bytes)?;
            wire.finish(keep_alive.into());
        }
    }
    Ok(())
}

fn truth_document(log: &TruthLog, keep_alive: KeepAlive) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    write_truth(&log.rows(), &mut body)?;
    let framing = Framing::Length(body.len());
    Ok(document(200, "application/jsonl", &body, framing, keep_alive))
}
