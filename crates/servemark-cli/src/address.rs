//! Where a server is, from a host and a port.

use servemark_client::BaseUrl;

use crate::error::CliError;
use crate::number::refused;
use crate::python::repr;

/// A server by its host and port.
pub(crate) fn at_host(name: &str, port: u16) -> Result<BaseUrl, CliError> {
    format!("http://{}:{port}", host(name)?).parse().map_err(refused("--host"))
}

/// A host as it stands in a URL: an IPv6 address has brackets there.
fn host(host: &str) -> Result<String, CliError> {
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        let why = format!("must be a name or an address, not {}; see --base-url", repr(host));
        return Err(CliError::setting("--host", why));
    }
    let is_bare_ipv6 = host.contains(':') && !host.starts_with('[');
    Ok(if is_bare_ipv6 { format!("[{host}]") } else { host.to_owned() })
}
