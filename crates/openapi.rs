//! The build script of every service: turns its description of its interface into the JSON that it
//! serves.

use std::{env, error::Error, fs, path::Path};

const SOURCE: &str = "assets/openapi.yaml";

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "cargo tells build scripts by variables, and listens to what they print"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let description: serde_norway::Value = serde_norway::from_str(&fs::read_to_string(SOURCE)?)?;
    let target = Path::new(&env::var("OUT_DIR")?).join("openapi.json");
    fs::write(target, serde_json::to_vec(&description)?)?;
    Ok(())
}
