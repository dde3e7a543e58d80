//! Requests to objstore-svc outside of the measured loops.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result};
use reqwest::{
    Client, Response,
    header::{CONTENT_TYPE, COOKIE, SET_COOKIE},
};
use uuid::Uuid;

/// An HTTP client with a time-out.
pub(crate) fn client() -> reqwest::Result<Client> {
    Client::builder().no_proxy().timeout(Duration::from_secs(30)).build()
}

/// Posts JSON with this value of the Cookie header. Returns the body of the answer.
pub(crate) async fn post(
    address: SocketAddr,
    path: &str,
    cookie: &str,
    body: String,
) -> Result<String> {
    Ok(send(&client()?, address, path, cookie, body).await?.text().await?)
}

/// Registers a new client. Returns the value of its Cookie header.
pub(crate) async fn session(address: SocketAddr) -> Result<String> {
    register(&client()?, address).await
}

/// Registers a client for each pattern, which watches that pattern. Returns their cookies.
pub(crate) async fn enroll(address: SocketAddr, patterns: &[String]) -> Result<Vec<String>> {
    let http = client()?;
    let mut cookies = Vec::new();
    for pattern in patterns {
        let cookie = register(&http, address).await?;
        send(&http, address, "/watch", &cookie, pattern.clone()).await?.bytes().await?;
        cookies.push(cookie);
    }
    Ok(cookies)
}

async fn register(http: &Client, address: SocketAddr) -> Result<String> {
    let id = format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4());
    let response = send(http, address, "/register", "", id).await?;
    let cookie = response.headers().get(SET_COOKIE).context("the answer sets no cookie")?;
    let cookie = cookie.to_str()?.split(';').next().unwrap_or_default().to_owned();
    response.bytes().await?;
    Ok(cookie)
}

async fn send(
    http: &Client,
    address: SocketAddr,
    path: &str,
    cookie: &str,
    body: String,
) -> Result<Response> {
    let request = http.post(format!("http://{address}{path}")).header(COOKIE, cookie);
    let sent = request.header(CONTENT_TYPE, "application/json").body(body).send();
    Ok(sent.await?.error_for_status()?)
}
