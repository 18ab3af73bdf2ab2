//! The HTTP transport on hyper: connections, TLS, time-outs, stamps, and the server's control routes.
