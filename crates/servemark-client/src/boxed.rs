//! Futures that this crate compiles.

use std::pin::Pin;

/// A future that is compiled in this crate.
///
/// The code of an `async fn` is compiled in each crate that awaits it, together with all futures
/// within it, and optimised as far as that crate is. The future that a function returns as this type
/// is compiled once, where the function is. It costs an allocation: two or three per
/// request, none per read.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
