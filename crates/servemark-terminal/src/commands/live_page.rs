//! The page of a run while it goes on, served on this machine.
//!
//! The run log is read anew for each page, on a thread that answers a browser: nothing is done
//! while no browser asks, and nothing on the measured path. After each page there is a pause of at
//! least two seconds and of ten times the time that the page took, so that pages take at most a
//! tenth of a core.

mod pages;
mod request;
mod server;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use servemark::core::{Progress, RequestRecord, is_stream};
use servemark::page::Served;
use servemark::{RunContext, RunEvent, RunObserver, Scores};
use servemark_cli::CliError;

use self::pages::{PageSource, Pages};
use self::server::Server;
use crate::screen;

/// The page of one command, served until it is dropped.
#[derive(Debug)]
pub(crate) struct LivePage {
    pages: Arc<Pages>,
    server: Server,
}

impl LivePage {
    /// Serves the page at a port of this machine; 0 is any free port. Browsers on other machines
    /// cannot reach it.
    fn open(port: u16) -> Result<Self, CliError> {
        Self::serve(port, Pages::default()).map_err(|error| {
            let why = format!(
                "cannot serve a page at 127.0.0.1:{port} ({error}): give another port, or 0 for any \
                 free one"
            );
            CliError::Setting { flag: FLAG, why }
        })
    }

    fn serve(port: u16, pages: Pages) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let pages = Arc::new(pages);
        let server = Server::start(listener, Arc::clone(&pages))?;
        Ok(Self { pages, server })
    }

    fn url(&self) -> String {
        format!("http://{}/", self.server.address())
    }

    /// Prints the address of the page and shows the runs of the context, whose observer receives
    /// their events as before.
    fn show_runs(&self, context: &mut RunContext) {
        screen::eprint_line(&format!("Live page: {}", self.url()));
        let (inner, pages) = (Arc::clone(&context.observer), Arc::clone(&self.pages));
        context.observer = Arc::new(Watcher { inner, pages });
    }

    /// Shows the report of the run that is over, and ends the server once browsers that follow the
    /// run have it.
    fn finish(self, scores: &Scores<'_>, run_log: Option<&Path>) {
        let source = run_log.map(|path| path.display().to_string());
        self.pages.finish(|version| {
            let mut page = Vec::new();
            let served = Served { version, is_over: true };
            // Writing to memory does not fail.
            let _ = scores.write_served_page(source.as_deref(), served, &mut page);
            page
        });
    }
}

/// The page of a command, if `--live` asks for one.
#[derive(Debug, Default)]
pub(crate) struct RequestedPage {
    page: Option<LivePage>,
}

impl RequestedPage {
    /// Serves the page at a port of this machine, or nothing without a port.
    pub(crate) fn open(port: Option<u16>) -> Result<Self, CliError> {
        Ok(Self { page: port.map(LivePage::open).transpose()? })
    }

    /// Shows the runs of the context on the page.
    pub(crate) fn show_runs(&self, context: &mut RunContext) {
        if let Some(page) = &self.page {
            page.show_runs(context);
        }
    }

    /// Shows the report of the run that is over, and ends the server once browsers that follow the
    /// run have it.
    pub(crate) fn finish(self, scores: &Scores<'_>, run_log: Option<&Path>) {
        if let Some(page) = self.page {
            page.finish(scores, run_log);
        }
    }
}

/// Refuses `--live` for a run log that cannot be read while it is written.
pub(crate) fn check(live: Option<u16>, run_log: Option<&Path>) -> Result<(), CliError> {
    if live.is_some() && run_log.is_some_and(is_stream) {
        return Err(CliError::no_effect(FLAG, "where the run log is a pipe or a device"));
    }
    Ok(())
}

impl Drop for LivePage {
    fn drop(&mut self) {
        self.pages.close();
        self.server.stop();
    }
}

/// Observer that sets the run log that the page shows, and forwards everything to the inner
/// observer.
struct Watcher {
    inner: Arc<dyn RunObserver>,
    pages: Arc<Pages>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl RunObserver for Watcher {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Recording { run_log } = event {
            self.pages.turn_to(PageSource::RunLog(run_log.to_path_buf()));
        }
        self.inner.on_event(event);
    }

    fn on_record(&self, record: &RequestRecord) {
        self.inner.on_record(record);
    }
}

impl Progress for Watcher {
    fn begin(&self, work: &str, total: u64) {
        self.inner.begin(work, total);
    }

    fn begin_bytes(&self, work: &str, total: u64) {
        self.inner.begin_bytes(work, total);
    }

    fn advance(&self, steps: u64) {
        self.inner.advance(steps);
    }

    fn end(&self) {
        self.inner.end();
    }
}

const FLAG: &str = "--live";

#[cfg(test)]
mod tests;
