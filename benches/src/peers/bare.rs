//! Bare axum routes, an upper bound for services on axum: they read the body and answer a constant
//! of the same size as the service.

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

/// Serves until the process is killed.
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
