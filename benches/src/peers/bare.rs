//! A bare axum route, an upper bound for services on axum: it reads the body and answers a constant
//! of the same size as the service.

use std::net::Ipv4Addr;

use anyhow::Result;
use axum::{Router, body::Bytes, http::header, routing::post};
use tokio::net::TcpListener;

/// Serves until the process is killed.
pub(crate) async fn serve(port: u16, bytes: usize) -> Result<()> {
    let answer = Bytes::from(vec![b'x'; bytes]);
    let route =
        post(move |_: Bytes| async { ([(header::CONTENT_TYPE, "application/json")], answer) });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(axum::serve(listener, Router::new().route("/get", route)).await?)
}
