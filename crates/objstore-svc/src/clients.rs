//! Reads the file of the clients that may register.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use crate::domain::{Allowlist, ClientId, InvalidId, SecretDigest};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientsFileError {
    #[error("cannot read {path:?} (OBJSTORE_CLIENTS_FILE, --clients-file): {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path:?} (OBJSTORE_CLIENTS_FILE, --clients-file), line {line}: {source}")]
    Invalid {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        source: InvalidClient,
    },
}

/// Why a line of the clients file is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidClient {
    #[error(transparent)]
    Id(#[from] InvalidId),
    #[error("after the ID there may be only sha256: with 64 hexadecimal digits")]
    Digest,
    #[error("this ID is already listed, with another digest or none")]
    Repeated,
}

/// Reads the clients file. Without one, all IDs may register.
pub(crate) fn read(path: Option<&Path>) -> Result<Allowlist, ClientsFileError> {
    let Some(path) = path else { return Ok(Allowlist::All) };
    let path = || path.to_owned();
    let text = fs::read_to_string(path())
        .map_err(|source| ClientsFileError::Unreadable { path: path(), source })?;
    let mut listed = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        list_client(&mut listed, line).map_err(|source| ClientsFileError::Invalid {
            path: path(),
            line: index + 1,
            source,
        })?;
    }
    Ok(Allowlist::Listed(listed))
}

/// Adds the client of a line, if the line has one.
fn list_client(
    listed: &mut HashMap<ClientId, Option<SecretDigest>>,
    line: &str,
) -> Result<(), InvalidClient> {
    let client = line.split('#').next().unwrap_or_default().trim();
    let (id, digest) = match client.split_once(char::is_whitespace) {
        _ if client.is_empty() => return Ok(()),
        None => (client, None),
        Some((id, digest)) => {
            let digest = SecretDigest::parse(digest.trim_start()).ok_or(InvalidClient::Digest)?;
            (id, Some(digest))
        }
    };
    let earlier = listed.insert(ClientId::parse(id)?, digest);
    if earlier.is_some_and(|earlier| earlier != digest) {
        return Err(InvalidClient::Repeated);
    }
    Ok(())
}
