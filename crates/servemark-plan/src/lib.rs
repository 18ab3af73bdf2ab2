//! A whole benchmark run as one serialisable value.
