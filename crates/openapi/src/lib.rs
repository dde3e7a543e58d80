//! For build scripts: converts the OpenAPI description of a service to the JSON that it serves.

use std::{env, error::Error, fs, path::Path};

const SOURCE: &str = "assets/openapi.yaml";

/// Converts `assets/openapi.yaml` of the calling crate to `openapi.json` in `OUT_DIR`. Fails if the
/// file is missing or is not YAML.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "Cargo communicates with build scripts through variables and standard output"
)]
pub fn convert() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let description: serde_norway::Value = serde_norway::from_str(&fs::read_to_string(SOURCE)?)?;
    let target = Path::new(&env::var("OUT_DIR")?).join("openapi.json");
    fs::write(target, serde_json::to_vec(&description)?)?;
    Ok(())
}
