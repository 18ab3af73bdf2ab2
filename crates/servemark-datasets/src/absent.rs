//! Stands in for the data sets of vLLM, evalscope and AISBench in a build without them. There are no
//! values of these types: a plan that names such a data set is refused when it is read.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use servemark_core::{DatasetError, DrawContext, Session};

use crate::layout::FileLayout;
use crate::{DatasetName, Draw};

/// Declares a type without values, with what is asked of every peer's data set.
macro_rules! absent {
    ($($peer:literal $name:ident)+) => {$(
        #[doc = concat!("A data set of ", $peer, ", of which this build has none.")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(Infallible);

        impl $name {
            pub(crate) fn draw(
                &self,
                _: usize,
                _: &mut DrawContext<'_>,
            ) -> Result<Draw, DatasetError> {
                match self.0 {}
            }

            pub(crate) fn advance(
                &self,
                _: usize,
                _: &mut DrawContext<'_>,
            ) -> Result<Vec<Session>, DatasetError> {
                match self.0 {}
            }

            pub(crate) fn file_layout(&self) -> Option<(&Path, FileLayout)> {
                match self.0 {}
            }

            pub(crate) fn file_layouts(&self) -> Vec<(&Path, FileLayout)> {
                match self.0 {}
            }

            pub(crate) fn has_timestamps(&self) -> bool {
                match self.0 {}
            }

            pub(crate) fn is_custom(&self) -> bool {
                match self.0 {}
            }

            pub(crate) fn is_multi_turn(&self) -> bool {
                match self.0 {}
            }

            pub(crate) fn missing_path(&mut self) -> Option<(&'static str, &mut Option<PathBuf>)> {
                match self.0 {}
            }

            pub(crate) fn name(&self) -> DatasetName {
                match self.0 {}
            }

            pub(crate) fn needs_chat_template(&self) -> bool {
                match self.0 {}
            }

            pub(crate) fn sends_token_ids(&self) -> bool {
                match self.0 {}
            }

            pub(crate) fn zero_means_all(&self) -> bool {
                match self.0 {}
            }

            /// Returns whether a data set that follows this one names further ones.
            pub fn has_nested_parts(&self) -> bool {
                match self.0 {}
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(D::Error::custom(concat!(
                    "this program was built without the feature peers, which has the data sets of ",
                    $peer,
                    "; the program servemark has it"
                )))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                match self.0 {}
            }
        }
    )+};
}

absent! {
    "AISBench" AisbenchSpec
    "evalscope" EvalscopeSpec
    "vLLM" VllmSpec
}
