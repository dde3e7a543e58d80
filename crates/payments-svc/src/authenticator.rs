//! Authenticator apps (TOTP, RFC 6238): SHA-1, six digits, steps of 30 seconds. Their secrets are
//! encrypted in the store, with the key of the desk.

use std::fmt;

use jiff::Timestamp;
use payments_domain::{Code, Id, SealedSecret, Token, TokenDigest};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

/// The setting with the key of the desk.
pub(crate) const DESK_KEY: &str = "PAYMENTS_DESK_KEY";

const STEP_SECONDS: i64 = 30;

/// A code of another step than the current one works, if it is as near as this.
const TOLERANCE: i64 = 1;

#[derive(Debug, thiserror::Error)]
#[error("{DESK_KEY} must be 64 hexadecimal digits")]
pub(crate) struct InvalidDeskKey;

/// A secret was encrypted with another key, or for another user.
#[derive(Debug, thiserror::Error)]
#[error(
    "the secret of an authenticator cannot be decrypted: {DESK_KEY} is not the key that encrypted it"
)]
pub(crate) struct NotSealedHere;

/// Encrypts the secrets of authenticators.
pub(crate) struct DeskKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for DeskKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DeskKey")
    }
}

impl DeskKey {
    /// The key of the setting.
    pub(crate) fn of(text: &SecretString) -> Result<Self, InvalidDeskKey> {
        let mut key = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.expose_secret(), &mut *key).map_err(|_| InvalidDeskKey)?;
        Ok(Self(key))
    }

    /// Encrypts the secret of a user. No two calls may have the same `nonce`.
    pub(crate) fn seal(
        &self,
        user: Id,
        secret: &Secret,
        nonce: [u8; NONCE_LEN],
    ) -> Result<SealedSecret, NotSealedHere> {
        let mut sealed = [0; SealedSecret::BYTES];
        let (head, rest) = sealed.split_at_mut(NONCE_LEN);
        let (text, end) = rest.split_at_mut(Secret::BYTES);
        head.copy_from_slice(&nonce);
        text.copy_from_slice(&*secret.0);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag =
            self.cipher()?.seal_in_place_separate_tag(nonce, Aad::from(user.as_bytes()), text);
        end.copy_from_slice(tag.map_err(|_| NotSealedHere)?.as_ref());
        Ok(SealedSecret::new(sealed))
    }

    /// Decrypts the secret of a user.
    pub(crate) fn open(&self, user: Id, sealed: &SealedSecret) -> Result<Secret, NotSealedHere> {
        let mut sealed = Zeroizing::new(*sealed.as_bytes());
        let (nonce, text) = sealed.split_at_mut(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| NotSealedHere)?;
        let opened = self.cipher()?.open_in_place(nonce, Aad::from(user.as_bytes()), text);
        let opened = opened.map_err(|_| NotSealedHere)?;
        let secret = <&[u8; Secret::BYTES]>::try_from(&*opened).map_err(|_| NotSealedHere)?;
        Ok(Secret::new(*secret))
    }

    /// The key that signs links to receipts.
    pub(crate) fn for_receipts(&self) -> hmac::Key {
        derived(&self.hmac(), b"receipt links")
    }

    /// The secret of the session that a link begins in a browser, or that a code begins in place of
    /// another session: the same for each request.
    pub(crate) fn session(&self, from: TokenDigest, with: &str) -> Token {
        let key = derived(&derived(&self.hmac(), b"sessions"), from.as_bytes());
        let mut secret = [0; 32];
        secret.copy_from_slice(hmac::sign(&key, with.as_bytes()).as_ref());
        Token::new(secret)
    }

    /// A recovery code of the authenticator whose first code began the session.
    pub(crate) fn recovery_code(&self, session: TokenDigest, number: u8) -> String {
        let key = derived(&derived(&self.hmac(), b"recovery codes"), session.as_bytes());
        let mut random = [0; 10];
        random.copy_from_slice(&hmac::sign(&key, &[number]).as_ref()[..10]);
        recovery_code(random)
    }

    fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &*self.0)
    }

    fn cipher(&self) -> Result<LessSafeKey, NotSealedHere> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &*self.0);
        key.map(LessSafeKey::new).map_err(|_| NotSealedHere)
    }
}

fn derived(key: &hmac::Key, purpose: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(key, purpose).as_ref())
}

/// The secret of an authenticator.
pub(crate) struct Secret(Zeroizing<[u8; Self::BYTES]>);

impl Secret {
    pub(crate) const BYTES: usize = 20;

    pub(crate) fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// For typing, in groups of four.
    pub(crate) fn text(&self) -> String {
        groups(&*self.0, " ")
    }

    /// The address that a QR code has, for the entry of this user at this host.
    pub(crate) fn url(&self, host: &str, email: &str) -> String {
        let [host, email] = [host, email].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC));
        let secret = groups(&*self.0, "");
        format!("otpauth://totp/{host}:{email}?secret={secret}&issuer={host}")
    }

    /// What a user typed. A code of another step than one near `now` is any other text.
    pub(crate) fn code(&self, typed: &str, now: Timestamp) -> Code {
        let typed = normal(typed);
        let current = now.as_second().div_euclid(STEP_SECONDS);
        let nearest = current.saturating_add(TOLERANCE);
        let mut steps = (current.saturating_sub(TOLERANCE)..=nearest).rev();
        let step = steps.find(|step| format!("{:06}", self.number(*step)) == typed);
        step.map_or_else(|| Code::Other(Token::sent(&typed).digest()), Code::Step)
    }

    /// The code of a step.
    fn number(&self, step: i64) -> u32 {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &*self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        let offset = usize::from(tag.last().map_or(0, |last| last & 0xf));
        let word = tag.get(offset..).and_then(|rest| rest.first_chunk());
        (word.map_or(0, |word| u32::from_be_bytes(*word)) & 0x7fff_ffff) % 1_000_000
    }
}

/// A new recovery code, in groups of four.
pub(crate) fn recovery_code(random: [u8; 10]) -> String {
    groups(&random, "-")
}

/// A recovery code or the code of an app as it is compared: spaces and hyphens do not matter.
pub(crate) fn normal(typed: &str) -> String {
    let kept = typed.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    kept.collect::<String>().to_uppercase()
}

/// Base32 (RFC 4648) of groups of five bytes, with a separator after each four letters.
fn groups(bytes: &[u8], separator: &str) -> String {
    let letters = |chunk: &[u8]| {
        let number = chunk.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (0..8).rev().map(move |index| number >> (5 * index) & 31)
    };
    let mut text = String::new();
    for (index, five) in bytes.chunks(5).flat_map(letters).enumerate() {
        if index > 0 && index.is_multiple_of(4) {
            text.push_str(separator);
        }
        text.push(char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::try_from(five).unwrap_or(0)],
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn key(text: &str) -> Result<DeskKey, InvalidDeskKey> {
        DeskKey::of(&text.into())
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        let secret = Secret::new(*b"12345678901234567890");
        assert_eq!(groups(b"12345678901234567890", ""), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        for (second, expected) in [
            (59, 287_082),
            (1_111_111_109, 81_804),
            (1_111_111_111, 50_471),
            (1_234_567_890, 5_924),
            (2_000_000_000, 279_037),
            (20_000_000_000, 353_130),
        ] {
            let step = second / STEP_SECONDS;
            assert_eq!(secret.number(step), expected, "{second}");
            for (late, works) in [(-31, false), (-30, true), (0, true), (59, true), (60, false)] {
                let now = Timestamp::from_second(step * STEP_SECONDS + late).unwrap();
                let typed = format!("{:03} {:03}", expected / 1000, expected % 1000);
                let code = secret.code(&typed, now);
                let found = matches!(code, Code::Step(found) if found == step);
                assert_eq!(found, works, "{second} {late} {code:?}");
            }
        }
    }

    #[test]
    fn only_the_same_key_opens_a_secret_and_only_for_its_user() {
        let (own, other) = (key(KEY).unwrap(), key(&KEY.replace('1', "2")).unwrap());
        let sealed = own.seal(Id::MIN, &Secret::new([7; Secret::BYTES]), [1; 12]).unwrap();
        assert_eq!(*own.open(Id::MIN, &sealed).unwrap().0, [7; Secret::BYTES]);
        assert!(!sealed.as_bytes().windows(4).any(|part| part == [7; 4]));
        assert!(own.open(Id::MAX, &sealed).is_err() && other.open(Id::MIN, &sealed).is_err());
        for index in 0..SealedSecret::BYTES {
            let mut bytes = *sealed.as_bytes();
            bytes[index] ^= 1;
            assert!(own.open(Id::MIN, &SealedSecret::new(bytes)).is_err(), "{index}");
        }
        for wrong in ["", "00", &KEY[1..], &KEY.replace('a', "g")] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_session_depends_on_the_key_the_link_and_the_browser() {
        let (own, other) = (key(KEY).unwrap(), key(&KEY.replace('1', "2")).unwrap());
        let session = |key: &DeskKey, link: &str, browser: &str| {
            key.session(Token::sent(link).digest(), browser).expose().to_owned()
        };
        let first = session(&own, "link", "browser");
        assert_eq!((first.len(), &first), (64, &session(&own, "link", "browser")));
        for (key, link, browser) in [
            (&other, "link", "browser"),
            (&own, "link2", "browser"),
            (&own, "link", "browser2"),
            (&own, "linkb", "rowser"),
            (&own, "browser", "link"),
        ] {
            assert_ne!(session(key, link, browser), first, "{link} {browser}");
        }
    }

    #[test]
    fn codes_are_typed_in_many_ways() {
        let code = recovery_code([0xff; 10]);
        assert_eq!(code, "7777-7777-7777-7777");
        for typed in [&code, "7777 7777 7777 7777 ", "7777777777777777"] {
            assert_eq!(normal(typed), normal(&code));
        }
        assert_eq!(normal("abc-2"), "ABC2");
        assert_eq!(
            Secret::new([0; 20]).url("desk.example", "ann@shop.example"),
            format!(
                "otpauth://totp/desk%2Eexample:ann%40shop%2Eexample?secret={}&issuer=desk%2Eexample",
                "A".repeat(32)
            )
        );
    }
}
