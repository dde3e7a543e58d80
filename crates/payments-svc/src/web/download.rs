//! Files that users have uploaded.

use std::sync::Arc;

use axum::{
    http::header,
    response::{IntoResponse as _, Response},
};
use common::limits::Budget;
use payments_domain::NewFile;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::Error;

/// The content of a file. Browsers save it and do not open it. It takes memory until it is sent.
pub(crate) fn download(file: NewFile, memory: &Arc<Budget>) -> Result<Response, Error> {
    let NewFile { name, file_type, content } = file;
    let content = memory.hold(Arc::unwrap_or_clone(content.0)).ok_or(Error::NoMemory)?;
    // RFC 6266, section 5: the name has any characters.
    let name = utf8_percent_encode(name.as_str(), NON_ALPHANUMERIC);
    let headers = [
        (header::CONTENT_TYPE, file_type.name()),
        (header::CONTENT_DISPOSITION, &format!("attachment; filename*=UTF-8''{name}")),
    ];
    Ok((headers, content).into_response())
}
