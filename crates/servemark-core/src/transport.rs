//! What carries a prepared request to whatever answers it.

use std::time::Duration;

use crate::{Finish, Recorder, RequestError, Sample};

/// Carries requests: over HTTP, to an engine process, or from a script in a test.
///
/// The work is cut in two at the moment when the request is due. [`prepare`](Self::prepare) is off
/// the clock and does everything that can be done early; [`execute`](Self::execute) is on it and
/// only does I/O.
pub trait Transport: Send + Sync + 'static {
    /// A request ready to be sent.
    type Prepared: Send + 'static;

    /// Encodes the sample: body, headers.
    fn prepare(&self, sample: &Sample) -> Result<Self::Prepared, RequestError>;

    /// How many bytes a prepared request holds, so that who prepares ahead can bound them.
    fn bytes(call: &Self::Prepared) -> usize {
        let _ = call;
        0
    }

    /// How long before it is due a request is handed over. A transport that asks for a head start
    /// itself waits for the due time, which the recorder [knows](Recorder::due), and sends nothing
    /// before.
    fn head_start(&self) -> Duration {
        Duration::ZERO
    }

    /// Sends the request and reads the answer, telling `recorder` what is seen and when.
    ///
    /// The future's first poll comes from whoever waited for the due time, the later ones from a
    /// task of its own, so it must not keep the first waker. It may be dropped at any await; the
    /// request is then abandoned and its connection is not used again.
    fn execute(
        &self,
        call: Self::Prepared,
        recorder: &mut Recorder,
    ) -> impl Future<Output = Result<Finish, RequestError>>;
}
