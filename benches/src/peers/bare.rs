//! The peer of `get` and `health`: routes that read their body and answer a constant of the same size, and nothing else.

use std::net::Ipv4Addr;

use anyhow::Result;
use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::{get, post},
};
use bytes::Bytes;
use tokio::net::TcpListener;

/// Serves until the process is ended.
pub(crate) async fn serve(port: u16, bytes: usize) -> Result<()> {
    let answer = Bytes::from(vec![b'x'; bytes]);
    let (ok, refused) = (answer.clone(), answer.clone());
    let router = Router::new()
        .route("/get", post(move |_body: Bytes| async { json(answer) }))
        .route("/health", get(move || async { json(ok) }))
        .route(
            "/authenticate",
            post(move |_body: Bytes| async { (StatusCode::BAD_REQUEST, json(refused)) }),
        );
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(axum::serve(listener, router).await?)
}

fn json(body: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], body)
}
