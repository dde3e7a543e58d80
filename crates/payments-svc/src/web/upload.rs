//! Forms with files: `multipart/form-data`, read while it arrives, within limits of size, time and
//! memory.

use std::sync::Arc;

use axum::{
    extract::{FromRequest, Request},
    http::header,
};
use common::{
    body::{self, BodyError, UploadMemory},
    limits::Budget,
};
use multer::{Field, Multipart};
use payments_domain::{
    EvidenceText, FieldError, FileContent, FileName, FileType, MAX_FILE_BYTES, MAX_FILES, NewFile,
};
use sha2::{Digest as _, Sha256};

use super::{Content, Error};

/// The files, the text and the heads of the parts, in bytes.
const MAX_UPLOAD: usize = MAX_FILE_BYTES + 200 * 1024;

/// One more than a form may have: [`Upload::evidence`] refuses it. Others after it are ignored.
const MAX_KEPT: usize = MAX_FILES as usize + 1;

/// A state with the memory for uploads.
pub(crate) trait Uploads {
    fn uploads(&self) -> &Arc<Budget>;
}

/// The fields `text`, `file` and `remove` of a form. Other fields are ignored.
#[derive(Default)]
pub(crate) struct Upload {
    text: Vec<u8>,
    files: Vec<File>,
    /// Whether the form asks to remove the earlier files.
    removes: bool,
    /// The memory is in use until the files are stored.
    _memory: UploadMemory,
}

/// The fields of a form that have arrived, and why the others have not.
pub(crate) struct Arrived(pub(crate) Upload, pub(crate) Result<(), Error>);

struct File {
    name: String,
    content: Arc<Vec<u8>>,
}

impl<S: Uploads + Sync> FromRequest<S> for Upload {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let Arrived(upload, all) = Arrived::from_request(request, state).await?;
        all.map(|()| upload)
    }
}

impl<S: Uploads + Sync> FromRequest<S> for Arrived {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let boundary = multer::parse_boundary(kind.unwrap_or_default());
        let boundary = boundary.map_err(|_| Error::NotMultipart)?;
        let (pieces, memory) = body::upload(&parts.extensions, body, MAX_UPLOAD, state.uploads());
        let mut upload = Upload { _memory: memory, ..Upload::default() };
        let all = upload.read(Multipart::new(pieces, boundary)).await;
        Ok(Self(upload, all))
    }
}

impl Upload {
    async fn read(&mut self, mut form: Multipart<'_>) -> Result<(), Error> {
        while let Some(field) = form.next_field().await.map_err(unread)? {
            match field.name() {
                Some("text") => self.text = read(field).await?,
                Some("file") if self.files.len() < MAX_KEPT => {
                    let name = field.file_name().unwrap_or_default().to_owned();
                    let content = read(field).await?;
                    // Browsers send this if no file was chosen.
                    if !(name.is_empty() && content.is_empty()) {
                        self.files.push(File { name, content: Arc::new(content) });
                    }
                }
                Some("remove") => self.removes = !read(field).await?.is_empty(),
                _ => drop(read(field).await?),
            }
        }
        Ok(())
    }
}

async fn read(mut field: Field<'_>) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(unread)? {
        content.extend_from_slice(&chunk);
    }
    content.shrink_to_fit();
    Ok(content)
}

fn unread(error: multer::Error) -> Error {
    match error {
        multer::Error::StreamReadFailed(error) => match error.downcast::<BodyError>() {
            Ok(error) => (*error).into(),
            Err(_) => Error::Unreadable,
        },
        _ => Error::Unreadable,
    }
}

impl Upload {
    /// The text and the files, as evidence.
    pub(crate) fn evidence(&self) -> Result<(EvidenceText, Vec<NewFile>), Vec<FieldError>> {
        let (text, files) = self.fields()?;
        if text.as_str().is_empty() && files.is_empty() {
            return Err(vec![FieldError::new("text", "is required without a file")]);
        }
        Ok((text, files))
    }

    /// The text and the files. `None`: the earlier files are kept.
    pub(crate) fn change(&self) -> Result<(EvidenceText, Option<Vec<NewFile>>), Vec<FieldError>> {
        let (text, files) = self.fields()?;
        Ok((text, Some(files).filter(|files| self.removes || !files.is_empty())))
    }

    fn fields(&self) -> Result<(EvidenceText, Vec<NewFile>), Vec<FieldError>> {
        let invalid = |field: &'static str, message: &dyn ToString| {
            FieldError::new(field, message.to_string())
        };
        let mut errors = Vec::new();
        let text = str::from_utf8(&self.text).unwrap_or("\0").trim();
        let text = EvidenceText::new(text).map_err(|error| errors.push(invalid("text", &error)));
        let size: usize = self.files.iter().map(|file| file.content.len()).sum();
        if u32::try_from(self.files.len()).is_ok_and(|count| count > MAX_FILES) {
            errors.push(invalid("file", &format!("must be at most {MAX_FILES} files")));
        }
        if size > MAX_FILE_BYTES {
            let message = format!("must be at most {MAX_FILE_BYTES} bytes together");
            errors.push(invalid("file", &message));
        }
        let mut files = Vec::new();
        for File { name, content } in &self.files {
            match (FileName::new(name), FileType::of(content)) {
                (Ok(name), Some(file_type)) => {
                    let content = FileContent(Arc::clone(content));
                    files.push(NewFile { name, file_type, content });
                }
                (Err(error), _) => errors.push(invalid("file", &error)),
                (Ok(_), None) => errors.push(invalid("file", &"must be PDF, PNG or JPEG")),
            }
        }
        text.ok().filter(|_| errors.is_empty()).map(|text| (text, files)).ok_or(errors)
    }

    /// The text, to show it again in the form.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

/// The same fields have the same digest, whatever their boundary.
impl Content for Upload {
    fn add_to(&self, digest: Sha256) -> Sha256 {
        let digest = digest.chain_update(Sha256::digest(&self.text));
        self.files.iter().fold(digest, |digest, File { name, content }| {
            digest.chain_update(Sha256::digest(name)).chain_update(Sha256::digest(&**content))
        })
    }
}
