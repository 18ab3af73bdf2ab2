//! The trait of transports: they send prepared requests and read the answers.

use std::time::Duration;

use crate::{Finish, Recorder, RequestError, Sample};

/// Sends requests: over HTTP, to an engine process, or to a script in a test.
///
/// The work is split at the due time. [`prepare`](Self::prepare) runs before it and does everything
/// that can be done early; [`execute`](Self::execute) runs on the measured path and only does I/O.
///
/// ```
/// use servemark_core::{
///     Clock, Delta, Finish, MonotonicClock, Recorder, RequestError, Sample, Transport,
/// };
///
/// /// Answers every request at once with its own prompt.
/// struct Echo(MonotonicClock);
///
/// impl Transport for Echo {
///     type Prepared = String;
///
///     fn prepare(&self, sample: &Sample) -> Result<String, RequestError> {
///         Ok(sample.prompt.text().unwrap_or_default().into_owned())
///     }
///
///     async fn execute(
///         &self,
///         call: String,
///         recorder: &mut Recorder,
///     ) -> Result<Finish, RequestError> {
///         recorder.record_sent(self.0.now());
///         recorder.output(self.0.now(), Delta::content(&call));
///         Ok(Finish::default())
///     }
/// }
/// ```
pub trait Transport: Send + Sync + 'static {
    /// A request that is ready to be sent.
    type Prepared: Send + 'static;

    /// Encodes the sample into a request.
    fn prepare(&self, sample: &Sample) -> Result<Self::Prepared, RequestError>;

    /// Returns the number of bytes that a prepared request holds, which bounds how many are
    /// prepared ahead.
    fn bytes(call: &Self::Prepared) -> usize {
        let _ = call;
        0
    }

    /// Returns how long before its due time a request is passed to [`execute`](Self::execute). A
    /// transport with a head start waits for the due time itself, which it reads from
    /// [`Recorder::due`], and sends nothing before it.
    fn head_start(&self) -> Duration {
        Duration::ZERO
    }

    /// Sends the request, reads the answer, and reports to `recorder` what it observes and when.
    ///
    /// The first poll of the future comes from the task that waited for the due time, later polls
    /// from a task of the request's own, so the future must not keep the first waker. It may be
    /// dropped at any await; the request is then abandoned and its connection is not used again.
    fn execute(
        &self,
        call: Self::Prepared,
        recorder: &mut Recorder,
    ) -> impl Future<Output = Result<Finish, RequestError>>;
}
