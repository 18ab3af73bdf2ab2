//! Stands in for the dialects of the clients of vLLM, evalscope and AISBench in a build without them.
//! There are no values of these types: a plan that names such a dialect is refused when it is read.

use std::convert::Infallible;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use servemark_core::{RequestError, Sample};

use crate::route::Dialect;
use crate::{Backend, CommonSpec, Decoder, Route, WireRequest};

/// Declares a type without values, which is a dialect.
macro_rules! absent {
    ($($peer:literal $name:ident)+) => {$(
        #[doc = concat!("A dialect of the client of ", $peer, ", of which this build has none.")]
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            /// The options that all dialects share.
            pub common: CommonSpec,
            never: Infallible,
        }

        impl Dialect for $name {
            fn route(&self) -> Route {
                match self.never {}
            }
        }

        impl Backend for $name {
            type Decoder = Box<dyn Decoder>;

            fn encode(&self, _: &Sample) -> Result<WireRequest, RequestError> {
                match self.never {}
            }

            fn decoder(&self, _: &Sample) -> Box<dyn Decoder> {
                match self.never {}
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(D::Error::custom(concat!(
                    "this program was built without the feature peers, which has the dialects of ",
                    $peer,
                    "; the program servemark has it"
                )))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                match self.never {}
            }
        }
    )+};
}

absent! {
    "AISBench" AisbenchSpec
    "evalscope" EvalscopeSpec
    "vLLM" VllmSpec
}
