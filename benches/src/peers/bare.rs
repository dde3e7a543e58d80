//! The peer of `get`: a route that reads its body and answers a constant of the same size, and nothing else.

use std::net::Ipv4Addr;

use anyhow::Result;
use axum::{Router, http::header, routing::post};
use bytes::Bytes;
use tokio::net::TcpListener;

/// Serves until the process is ended.
pub(crate) async fn serve(port: u16, bytes: usize) -> Result<()> {
    let answer = Bytes::from(vec![b'x'; bytes]);
    let route =
        move |_body: Bytes| async move { ([(header::CONTENT_TYPE, "application/json")], answer) };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(axum::serve(listener, Router::new().route("/get", post(route))).await?)
}
