//! Transports and pacers behind pointers, so that the code of a run is compiled once, in this crate,
//! for all of them.

use std::any::Any;
use std::pin::Pin;
use std::time::Duration;

use servemark_core::{Clock, Finish, Recorder, RequestError, Sample, Stamp, Transport};
use servemark_pacer::Pacer;

/// A [`Transport`] of any type.
pub(crate) trait AnyTransport: Send + Sync {
    /// Encodes the sample into a request.
    fn prepare_call(&self, sample: &Sample) -> PreparedResult;

    /// Returns how long before its due time a request is passed to [`send`](Self::send).
    fn lead(&self) -> Duration;

    /// Sends a request that this transport prepared, and reads the answer.
    fn send<'a>(&'a self, call: Call, recorder: &'a mut Recorder) -> Sending<'a>;
}

/// A prepared request.
pub(crate) struct Call {
    request: Box<dyn Any + Send>,
    /// Number of bytes that it holds.
    pub(crate) bytes: usize,
}

/// A prepared request, or why it could not be prepared.
pub(crate) type PreparedResult = Result<Call, RequestError>;

/// A request that is being sent and answered.
type Sending<'a> = Pin<Box<dyn Future<Output = Result<Finish, RequestError>> + 'a>>;

impl<T: Transport> AnyTransport for T {
    fn prepare_call(&self, sample: &Sample) -> PreparedResult {
        let request = self.prepare(sample)?;
        Ok(Call { bytes: T::bytes(&request), request: Box::new(request) })
    }

    fn lead(&self) -> Duration {
        self.head_start()
    }

    fn send<'a>(&'a self, call: Call, recorder: &'a mut Recorder) -> Sending<'a> {
        let request = call.request.downcast::<T::Prepared>();
        let request = request.expect("a transport sends only what it prepared");
        Box::pin(self.execute(*request, recorder))
    }
}

/// A [`Pacer`] of any type.
pub(crate) trait AnyPacer: Clock {
    /// Waits until `due`; returns at once if it has passed. Only one task may wait at a time.
    fn wait_until(&self, due: Stamp) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

impl<P: Pacer> AnyPacer for P {
    fn wait_until(&self, due: Stamp) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(self.until(due))
    }
}
