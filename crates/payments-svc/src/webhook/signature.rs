//! Signatures of the Standard Webhooks specification.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use payments_domain::WebhookSecret;
use sha2::Sha256;

/// The value of the header `webhook-signature`: one signature for each secret, separated by spaces.
/// The receiver accepts the request if one of them is valid.
pub(super) fn header<'a>(
    secrets: impl Iterator<Item = &'a WebhookSecret>,
    id: &str,
    seconds: i64,
    body: &[u8],
) -> String {
    let signatures = secrets.map(|secret| sign(secret, id, seconds, body));
    signatures.collect::<Vec<_>>().join(" ")
}

#[expect(clippy::expect_used, reason = "HMAC has no key that it refuses")]
fn sign(secret: &WebhookSecret, id: &str, seconds: i64, body: &[u8]) -> String {
    let key = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    let tag = key.chain_update(format!("{id}.{seconds}.")).chain_update(body).finalize();
    format!("v1,{}", STANDARD.encode(tag.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_published_libraries() {
        // An example of the libraries' own tests.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = WebhookSecret::stored(secret).unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(header([&secret].into_iter(), id, 1_614_265_330, body), expected);
        let other = WebhookSecret::new([1; 32]);
        let both = header([&other, &secret].into_iter(), id, 1_614_265_330, body);
        let (first, second) = both.split_once(' ').unwrap();
        assert!(first.starts_with("v1,") && first != expected && second == expected, "{both}");
    }
}
