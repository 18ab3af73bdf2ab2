//! Where a server is, from a host and a port.

use servemark_client::BaseUrl;

use crate::argparse::Flag;
use crate::error::CliError;
use crate::number::refused;
use crate::python::repr;

/// Returns whether a URL begins with `https://`.
pub(crate) fn is_encrypted(url: &str) -> bool {
    url.parse::<BaseUrl>().is_ok_and(|url| url.is_https())
}

/// Returns a warning if a base URL ends with a slash; `None` otherwise. `client` names the peer,
/// whose client appends routes to the URL without removing the slash.
pub(crate) fn doubled_slash(base_url: &str, client: &str) -> Option<String> {
    base_url.ends_with('/').then(|| {
        format!(
            "--base-url ends with a slash, so routes begin with two and most servers answer 404, as with \
             {client}'s client; leave the slash out"
        )
    })
}

/// Returns the address of a server by its host, which `flag` gave, and its port.
pub(crate) fn at_host(flag: Flag, host: &str, port: u16) -> Result<BaseUrl, CliError> {
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        let why = format!("must be a name or an address, not {}; see --base-url", repr(host));
        return Err(CliError::setting(flag, why));
    }
    BaseUrl::at_host(host, port).map_err(refused(flag))
}
