//! Parts of a run that the program supplies itself.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use servemark_backends::{
    Backend, BackendSpec, DeferredBackend, DeferredCodec, ProvidedSpec, WireBackend,
};
use servemark_core::{
    Dataset, DatasetError, DrawContext, Finish, MonotonicClock, Recorder, RequestError, Sample,
    Transport,
};
use servemark_datasets::{DatasetSpec, Draw};

use crate::ExecuteError;

/// Parts of a run that the program supplies itself, by name.
///
/// A plan refers to a part by its name, so that a plan stays a plain value: it can be stored,
/// swept, searched and compared like any other. [`Bench`](crate::Bench) fills in both.
#[derive(Clone, Default)]
pub struct Parts {
    backends: BTreeMap<String, WireBackend>,
    deferred: BTreeMap<String, Arc<dyn DeferredBackend>>,
    datasets: BTreeMap<String, DatasetFactory>,
    transports: BTreeMap<String, TransportFactory>,
}

/// Creates a data set for each run, so that every run draws from the beginning.
type DatasetFactory = Arc<dyn Fn() -> Box<dyn Dataset> + Send + Sync>;

/// Creates a transport for each run, with the clock of the run.
type TransportFactory = Arc<dyn Fn(MonotonicClock) -> ProvidedTransport + Send + Sync>;

impl Parts {
    /// Adds a wire dialect.
    pub fn add_backend(&mut self, name: &str, backend: impl Backend) {
        self.backends.insert(name.to_owned(), WireBackend::new(backend));
    }

    /// Adds a wire dialect that works outside the measured path.
    pub fn add_deferred_backend(&mut self, name: &str, backend: impl DeferredBackend) {
        self.deferred.insert(name.to_owned(), Arc::new(backend));
    }

    /// Adds a data set. Every run draws from a copy of it.
    pub fn add_dataset<D>(&mut self, name: impl Into<String>, dataset: D)
    where
        D: Dataset + Clone + Sync + 'static,
    {
        let factory = move || Box::new(dataset.clone()) as Box<dyn Dataset>;
        self.datasets.insert(name.into(), Arc::new(factory));
    }

    /// Adds a transport, which is created for each run. Its stamps must be read from the clock that
    /// it is created with.
    pub fn add_transport<T: Transport>(
        &mut self,
        name: impl Into<String>,
        create: impl Fn(MonotonicClock) -> T + Send + Sync + 'static,
    ) {
        let factory = move |clock| ProvidedTransport(Arc::new(create(clock)));
        self.transports.insert(name.into(), Arc::new(factory));
    }

    /// Builds the codec of a dialect: the program's own if the spec names one.
    pub(crate) fn backend(&self, spec: &BackendSpec) -> Result<WireBackend, ExecuteError> {
        if let Some(deferred) = self.deferred(spec)? {
            return Ok(WireBackend::new(DeferredCodec::new(deferred.framing())));
        }
        let BackendSpec::Provided(ProvidedSpec { name, .. }) = spec else {
            return Ok(spec.build());
        };
        self.backends.get(name).cloned().ok_or_else(|| no_dialect(name))
    }

    /// Returns the program's dialect that works outside the measured path, if the spec names one.
    pub(crate) fn deferred(
        &self,
        spec: &BackendSpec,
    ) -> Result<Option<Arc<dyn DeferredBackend>>, ExecuteError> {
        let BackendSpec::Provided(ProvidedSpec { name, deferred: true, .. }) = spec else {
            return Ok(None);
        };
        self.deferred.get(name).cloned().map(Some).ok_or_else(|| no_dialect(name))
    }

    /// Draws from a data set: the program's own if the spec names one.
    pub(crate) fn draw(
        &self,
        spec: &DatasetSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let own = match spec {
            DatasetSpec::Provided(spec) => self.datasets.get(&spec.name).zip(Some(spec)),
            _ => None,
        };
        match own {
            Some((factory, spec)) => spec.draw(factory().as_mut(), count, context),
            None => spec.draw(count, context),
        }
    }

    /// Creates the transport of this name.
    pub(crate) fn transport(
        &self,
        name: &str,
        clock: MonotonicClock,
    ) -> Result<ProvidedTransport, ExecuteError> {
        let missing = || ExecuteError::NotProvided { what: "transport", name: name.to_owned() };
        self.transports.get(name).map(|create| create(clock)).ok_or_else(missing)
    }
}

fn no_dialect(name: &str) -> ExecuteError {
    ExecuteError::NotProvided { what: "dialect", name: name.to_owned() }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("backends", &self.backends.keys())
            .field("deferred", &self.deferred.keys())
            .field("datasets", &self.datasets.keys())
            .field("transports", &self.transports.keys())
            .finish()
    }
}

/// A transport of the program, as a single type for all of them.
#[derive(Clone)]
pub(crate) struct ProvidedTransport(Arc<dyn DynTransport>);

/// A request that a [`ProvidedTransport`] prepared.
pub(crate) struct PreparedCall {
    call: Box<dyn Any + Send>,
    bytes: usize,
}

impl Transport for ProvidedTransport {
    type Prepared = PreparedCall;

    fn prepare(&self, sample: &Sample) -> Result<PreparedCall, RequestError> {
        self.0.prepare(sample)
    }

    fn bytes(call: &PreparedCall) -> usize {
        call.bytes
    }

    fn head_start(&self) -> Duration {
        self.0.head_start()
    }

    async fn execute(
        &self,
        call: PreparedCall,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        self.0.execute(call.call, recorder).await
    }
}

/// [`Transport`] in a form that can be a trait object.
trait DynTransport: Send + Sync {
    fn prepare(&self, sample: &Sample) -> Result<PreparedCall, RequestError>;

    fn head_start(&self) -> Duration;

    fn execute<'a>(
        &'a self,
        call: Box<dyn Any + Send>,
        recorder: &'a mut Recorder,
    ) -> Pin<Box<dyn Future<Output = Result<Finish, RequestError>> + 'a>>;
}

impl<T: Transport> DynTransport for T {
    fn prepare(&self, sample: &Sample) -> Result<PreparedCall, RequestError> {
        let call = Transport::prepare(self, sample)?;
        Ok(PreparedCall { bytes: T::bytes(&call), call: Box::new(call) })
    }

    fn head_start(&self) -> Duration {
        Transport::head_start(self)
    }

    fn execute<'a>(
        &'a self,
        call: Box<dyn Any + Send>,
        recorder: &'a mut Recorder,
    ) -> Pin<Box<dyn Future<Output = Result<Finish, RequestError>> + 'a>> {
        let call = call.downcast::<T::Prepared>();
        let call = call.expect("a prepared request is executed by the transport that prepared it");
        Box::pin(Transport::execute(self, *call, recorder))
    }
}
