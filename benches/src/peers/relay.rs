//! The peer of `authenticate`: the minimal cost of a sign-in. It calls the portal as authsvc does,
//! with a new client, a new TLS session and the settings of authsvc for each request. It does not
//! validate, count or wipe anything.

use std::{net::Ipv4Addr, path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::post,
};
use reqwest::{Client, multipart::Form, redirect::Policy};
use rustls::{ClientConfig, client::Resumption};
use serde::Deserialize;
use tokio::{net::TcpListener, time::timeout};

/// The timeout of authsvc for the portal.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Has the same size as the answer of authsvc.
const ANSWER: &str = r#"{"status":true,"message":"the portal accepted the credentials","timestamp":"2026-11-21T10:12:48.537242+05:30"}"#;

struct Relay {
    /// URL of the portal's login.
    login: String,
    tls: ClientConfig,
}

#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: String,
}

/// Serves until the process is killed.
pub(crate) async fn serve(port: u16, portal: &str, ca_file: &Path) -> Result<()> {
    let login = format!("{portal}/MAcademy/mobile/mobilelogin/auth");
    let mut tls = common::tls::client_config(Some(ca_file), "--ca-file")?;
    tls.resumption = Resumption::disabled();
    let relay = Relay { login, tls };
    let router =
        Router::new().route("/authenticate", post(authenticate)).with_state(Arc::new(relay));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(axum::serve(listener, router).await?)
}

async fn authenticate(
    State(relay): State<Arc<Relay>>,
    Json(credentials): Json<Credentials>,
) -> Result<impl IntoResponse, StatusCode> {
    match timeout(TIMEOUT, relay.login(credentials)).await {
        Ok(Ok(true)) => Ok(([(header::CONTENT_TYPE, "application/json")], ANSWER)),
        _ => Err(StatusCode::BAD_GATEWAY),
    }
}

impl Relay {
    /// Whether the portal accepts the credentials.
    async fn login(&self, credentials: Credentials) -> reqwest::Result<bool> {
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .build()?;
        let form = Form::new()
            .text("userName", credentials.username)
            .text("password", credentials.password)
            .text("j_appId", "YES")
            .text("instId", "1,6,7,14");
        let request = client.post(&self.login).header("X-Client-Type", "MOBILE").multipart(form);
        let response = request.send().await?;
        let accepted = response.status().is_success();
        response.bytes().await?;
        Ok(accepted)
    }
}
