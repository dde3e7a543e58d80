//! A client for the tests, which trusts one portal, and the two calls of the portal.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use demo_portal::{Controller, Operation, Options, Portal};
use reqwest::{Client, ClientBuilder, Error, Response, multipart::Form, redirect::Policy};
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use serde_json::Value;

/// Shared by the tests that use their own username.
pub(crate) static SHARED: LazyLock<Portal> =
    LazyLock::new(|| Portal::start(Options::default()).unwrap());

pub(crate) fn builder(ca_pem: &str, resumption: Resumption) -> ClientBuilder {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.resumption = resumption;
    let client = Client::builder().no_proxy().redirect(Policy::none());
    client.timeout(Duration::from_secs(10)).tls_backend_preconfigured(tls)
}

/// A client without session resumption, as authsvc uses for a sign-in.
pub(crate) fn client(portal: &Portal) -> Client {
    builder(portal.ca_pem(), Resumption::disabled()).build().unwrap()
}

pub(crate) async fn login(
    client: &Client,
    url: &str,
    username: &str,
    password: &str,
) -> Result<Response, Error> {
    let form = Form::new()
        .text("userName", username.to_owned())
        .text("password", password.to_owned())
        .text("j_appId", "YES")
        .text("instId", "1,6,7,14");
    let address = format!("{url}{}", Operation::Login.path());
    client.post(address).header("X-Client-Type", "MOBILE").multipart(form).send().await
}

pub(crate) async fn profile(client: &Client, url: &str, token: &str) -> Result<Response, Error> {
    let form = Form::new().text("action", "27").text("mode", "1").text("menuId", "11172");
    let address = format!("{url}{}", Operation::Profile.path());
    let call = client.post(address).header("X-Client-Type", "MOBILE").bearer_auth(token);
    call.multipart(form).send().await
}

/// Performs both calls and returns the answers to the login and to the profile request.
pub(crate) async fn sign_in(portal: &Portal, username: &str, password: &str) -> (Value, Value) {
    let client = client(portal);
    let login = login(&client, &portal.url(), username, password).await.unwrap();
    assert_eq!(login.status(), 200);
    let login: Value = login.json().await.unwrap();
    let token = login["accessToken"].as_str().unwrap();
    let profile = profile(&client, &portal.url(), token).await.unwrap();
    assert_eq!(profile.status(), 200);
    (login, profile.json().await.unwrap())
}

/// Waits up to 10 s for a condition.
pub(crate) async fn until(portal: &Portal, condition: impl Fn(&Controller) -> bool) {
    tokio::time::timeout(Duration::from_secs(10), portal.until(condition)).await.unwrap();
}
