//! The API key that the environment has for a server.

use servemark_client::Credentials;

use crate::environment::Environment;
use crate::error::CliError;
use crate::number::refused;

/// Returns the API key of the environment, or empty credentials if there is none.
pub(crate) fn keyed(environment: &Environment) -> Result<Credentials, CliError> {
    match authorization(environment) {
        Some(key) => Credentials::new().authorization(&key).map_err(refused("the API key")),
        None => Ok(Credentials::new()),
    }
}

/// Returns the value of the `Authorization` header: `OPENAI_API_KEY` as a bearer token, else
/// `API_KEY` as it is.
fn authorization(environment: &Environment) -> Option<String> {
    let bearer = environment.variable("OPENAI_API_KEY").map(|key| format!("Bearer {key}"));
    bearer.or_else(|| environment.variable("API_KEY").map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_authorization(variables: &[(&str, &str)], expected: Option<&str>) {
        let environment = variables
            .iter()
            .fold(Environment::default(), |all, (name, value)| all.with_variable(name, value));
        assert_eq!(authorization(&environment).as_deref(), expected);
    }

    #[test]
    fn the_first_key_that_is_not_empty_counts() {
        check_authorization(&[], None);
        check_authorization(&[("OPENAI_API_KEY", "sk")], Some("Bearer sk"));
        check_authorization(&[("API_KEY", "Token k")], Some("Token k"));
        check_authorization(&[("API_KEY", "k"), ("OPENAI_API_KEY", "sk")], Some("Bearer sk"));
        check_authorization(&[("API_KEY", "k"), ("OPENAI_API_KEY", "")], Some("k"));
    }
}
