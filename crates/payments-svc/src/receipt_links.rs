//! Links to receipts. A link has the ID of its transaction and a signature, so nobody can guess it.
//! It works as long as the store has the address to which it went.

use payments_domain::Id;
use ring::hmac;

/// The length of an ID in hexadecimal digits.
const ID_LENGTH: usize = 2 * Id::BYTES;

pub(crate) struct ReceiptLinks {
    key: hmac::Key,
    /// The public URL of the payment page. Ends with a slash.
    page: String,
}

impl ReceiptLinks {
    /// `page` is the public URL of the payment page.
    pub(crate) fn new(key: hmac::Key, page: &str) -> Self {
        Self { key, page: format!("{}/", page.trim_end_matches('/')) }
    }

    pub(crate) fn url(&self, transaction: Id) -> String {
        let signature = hmac::sign(&self.key, transaction.as_bytes());
        format!("{}receipt?link={transaction}{}", self.page, hex::encode(signature))
    }

    /// The transaction of the parameter `link`. `None` if it was not signed here.
    pub(crate) fn transaction(&self, link: &str) -> Option<Id> {
        let (id, signature) = link.split_at_checked(ID_LENGTH)?;
        let (id, signature): (Id, _) = (id.parse().ok()?, hex::decode(signature).ok()?);
        // Takes the same time for each wrong signature.
        hmac::verify(&self.key, id.as_bytes(), &signature).ok()?;
        Some(id)
    }
}
