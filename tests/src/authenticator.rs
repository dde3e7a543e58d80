//! An authenticator app (RFC 6238).

use jiff::Timestamp;
use ring::hmac;

pub struct Authenticator {
    secret: Vec<u8>,
    /// The step when the app was set up.
    step: i64,
}

impl Authenticator {
    /// With the secret that a page shows.
    pub fn new(secret: &str) -> Self {
        let letters = secret.bytes().filter(|byte| *byte != b' ');
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let bits = letters.flat_map(|letter| {
            let value = alphabet.iter().position(|known| *known == letter).expect("base32");
            (0..5).rev().map(move |index| value >> index & 1)
        });
        let bits: Vec<usize> = bits.collect();
        let byte = |bits: &[usize]| bits.iter().fold(0, |byte, bit| byte << 1 | bit);
        let bytes = bits.chunks_exact(8).map(|bits| u8::try_from(byte(bits)).expect("a byte"));
        Self { secret: bytes.collect(), step: Timestamp::now().as_second() / 30 }
    }

    /// The code of the step when the app was set up, or of a later one.
    pub fn code(&self, later: i64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.secret);
        let tag = hmac::sign(&key, &(self.step + later).to_be_bytes());
        let offset = usize::from(tag.as_ref()[19] & 0xf);
        let word: [u8; 4] = tag.as_ref()[offset..offset + 4].try_into().expect("four bytes");
        format!("{:06}", (u32::from_be_bytes(word) & 0x7fff_ffff) % 1_000_000)
    }
}
