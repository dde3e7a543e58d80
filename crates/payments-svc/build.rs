//! Converts the OpenAPI description to JSON.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    openapi::convert()
}
