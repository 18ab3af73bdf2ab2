//! How a `nats-server` that asks for credentials or speaks TLS lets ranks in.

use std::fs;
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair as TlsKey};
use serde_json::{Value, json};
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::cluster::Broker;
use crate::text;

/// A coordinator with a configuration of its own, and a server to measure.
struct Guarded {
    broker: Broker,
    server: MockServer,
    folder: TempDir,
}

impl Guarded {
    /// Starts a coordinator. Its configuration may name files, which lie in its folder.
    fn start(configuration: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files.iter().chain([&("nats.conf", configuration)]) {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let server = MockServer::start(MockSpec::default()).unwrap();
        Self { broker: Broker::configured(folder.path(), "nats.conf"), server, folder }
    }

    /// Makes a run of one rank, with `access` before the host of the coordinator.
    fn run(&self, scheme: &str, access: &str, more: &[&str], variables: &[(&str, &str)]) -> Output {
        let coordinator = format!("{scheme}://{access}localhost:{}", self.broker.port);
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command
            .args(["bench-serving", "--backend", "vllm-chat", "--num-prompts", "3"])
            .args(["--base-url", &self.server.base_url(), "--disable-tqdm"])
            .args(["--dataset-name", "random-ids", "--tokenizer", crate::cluster::TOKENIZER])
            .args(["--random-input-len", "8", "--random-output-len", "4"])
            .args(["--coordinator", &coordinator, "--world", "1", "--rank", "0"])
            .args(["--join-timeout", "60"])
            .args(more)
            .envs(variables.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    #[track_caller]
    fn lets_in(&self, scheme: &str, access: &str, more: &[&str], variables: &[(&str, &str)]) {
        let output = self.run(scheme, access, more, variables);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }

    /// Checks that a rank is refused at once, as a wrong command line is, and returns the message.
    #[track_caller]
    fn refuses(
        &self,
        scheme: &str,
        access: &str,
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> String {
        let output = self.run(scheme, access, more, variables);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(&format!("localhost:{}", self.broker.port)), "{error}");
        error
    }
}

#[test]
fn a_token_lets_in_and_another_does_not() {
    let site = Guarded::start("authorization { token: s3cret }", &[]);
    site.lets_in("nats", "s3cret@", &[], &[]);
    site.lets_in("nats", "", &[], &[("NATS_TOKEN", "s3cret")]);
    for (access, variables) in
        [("wr0ng@", vec![]), ("", vec![("NATS_TOKEN", "wr0ng")]), ("", vec![])]
    {
        let error = site.refuses("nats", access, &[], &variables);
        assert!(error.contains("refuses this client: authorization violation"), "{error}");
        assert!(!error.contains("wr0ng"), "{error}");
    }
}

#[test]
fn name_and_password_let_in() {
    let site = Guarded::start("authorization { user: ann, password: s3cret }", &[]);
    site.lets_in("nats", "ann:s3cret@", &[], &[]);
    site.lets_in("nats", "", &[], &[("NATS_USER", "ann"), ("NATS_PASSWORD", "s3cret")]);
    let error = site.refuses("nats", "ann:wr0ng@", &[], &[]);
    assert!(error.contains("authorization violation") && !error.contains("wr0ng"), "{error}");
}

/// Returns a signed statement about a key of NATS, as its own tool `nsc` makes it.
fn statement(issuer: &KeyPair, of: &KeyPair, name: &str, nats: &Value) -> String {
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let claims = json!({
        "jti": name, "iat": 1_700_000_000, "iss": issuer.public_key(), "name": name,
        "sub": of.public_key(), "nats": nats,
    });
    let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encoded(&head), encoded(&claims));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

/// Returns the text of a file with a user's credentials.
fn credentials(account: &KeyPair) -> String {
    let user = KeyPair::new_user();
    let rights = json!({
        "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2,
    });
    format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        statement(account, &user, "rank", &rights),
        user.seed().unwrap()
    )
}

#[test]
fn a_file_with_credentials_lets_in() {
    let (operator, account, other) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1,
    });
    let rights = json!({
        "limits": limits, "default_permissions": {"pub": {}, "sub": {}}, "type": "account",
        "version": 2,
    });
    let configuration = format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {} }}\n",
        statement(&operator, &operator, "op", &json!({"type": "operator", "version": 2})),
        account.public_key(),
        statement(&operator, &account, "acc", &rights),
    );
    let (right, wrong) = (credentials(&account), credentials(&other));
    let site = Guarded::start(&configuration, &[("a.creds", &right), ("b.creds", &wrong)]);
    site.lets_in("nats", "", &["--coordinator-creds", "a.creds"], &[]);
    let error = site.refuses("nats", "", &["--coordinator-creds", "b.creds"], &[]);
    assert!(error.contains("authorization violation"), "{error}");
    let missing = site.run("nats", "", &["--coordinator-creds", "none.creds"], &[]);
    let error = text(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2), "{error}");
    assert!(error.contains("credentials none.creds cannot be read"), "{error}");
}

/// An authority and what it signed for one end of a connection.
struct Authority(CertifiedIssuer<'static, TlsKey>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, TlsKey::generate().unwrap()).unwrap())
    }

    /// Returns a certificate for this machine, and its key.
    fn signs(&self) -> (String, String) {
        let key = TlsKey::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

#[test]
fn certificates_are_checked_on_both_sides() {
    let (authority, other) = (Authority::new(), Authority::new());
    let ((server, server_key), (client, client_key)) = (authority.signs(), authority.signs());
    let (stranger, stranger_key) = other.signs();
    let files = [
        ("ca.pem", authority.0.pem()),
        ("other.pem", other.0.pem()),
        ("server.pem", server),
        ("server.key", server_key),
        ("client.pem", client),
        ("client.key", client_key),
        ("stranger.pem", stranger),
        ("stranger.key", stranger_key),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let tls = "cert_file: server.pem, key_file: server.key";
    let plain = Guarded::start(&format!("tls {{ {tls} }}"), &files);
    for scheme in ["tls", "nats"] {
        plain.lets_in(scheme, "", &["--coordinator-ca", "ca.pem"], &[]);
        for authority in [&["--coordinator-ca", "other.pem"][..], &[]] {
            let error = plain.refuses(scheme, "", authority, &[]);
            assert!(error.contains("no encrypted connection to the coordinator"), "{error}");
            assert!(error.contains("invalid peer certificate"), "{error}");
        }
    }
    let missing = plain.refuses("tls", "", &["--coordinator-ca", "none.pem"], &[]);
    assert!(missing.contains("No such file"), "{missing}");
    let strict = Guarded::start(&format!("tls {{ {tls}, ca_file: ca.pem, verify: true }}"), &files);
    let with = |certificate, key| {
        ["--coordinator-ca", "ca.pem", "--coordinator-cert", certificate, "--coordinator-key", key]
    };
    strict.lets_in("tls", "", &with("client.pem", "client.key"), &[]);
    for refused in [&with("stranger.pem", "stranger.key")[..], &["--coordinator-ca", "ca.pem"]] {
        strict.refuses("tls", "", refused, &[]);
    }
}
