//! The length and the seed of random tests.

use std::path::Path;

use uuid::Uuid;

/// `few`, or `many` if `SOAK=1` is in the environment.
#[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
pub fn rounds(few: usize, many: usize) -> usize {
    if std::env::var("SOAK").is_ok_and(|soak| soak == "1") { many } else { few }
}

/// The seed of a random test: a new one, or `SEED`, to repeat a run.
#[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
pub fn seed() -> u64 {
    match std::env::var("SEED") {
        Ok(seed) => seed.parse().expect("SEED is a number"),
        Err(_) => Uuid::new_v4().as_u64_pair().1,
    }
}

/// The path of this program in `PREVIOUS_PROGRAMS`, a folder with the programs of the version
/// before the newest migration. `make soak` builds them, once there is a second migration.
#[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
pub fn previous(program: &str) -> Option<String> {
    let folder = std::env::var("PREVIOUS_PROGRAMS").ok()?;
    Some(format!("{folder}/{program}")).filter(|program| Path::new(program).exists())
}
