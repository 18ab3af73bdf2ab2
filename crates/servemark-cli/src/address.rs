//! Where a server is, from a host and a port.

use servemark_client::BaseUrl;

use crate::error::CliError;
use crate::number::refused;
use crate::python::repr;

/// Whether a URL is one of encrypted connections.
pub(crate) fn is_encrypted(url: &str) -> bool {
    url.parse::<BaseUrl>().is_ok_and(|url| url.is_https())
}

/// A server by its host and port.
pub(crate) fn at_host(host: &str, port: u16) -> Result<BaseUrl, CliError> {
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        let why = format!("must be a name or an address, not {}; see --base-url", repr(host));
        return Err(CliError::setting("--host", why));
    }
    BaseUrl::at_host(host, port).map_err(refused("--host"))
}
