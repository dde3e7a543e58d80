//! QR codes.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// The width of the light frame, in modules.
const FRAME: usize = 4;

/// An SVG image that shows a text as a QR code. `None` if the text is too long. The element around it
/// needs a label.
pub(super) fn svg(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let side = code.width() + 2 * FRAME;
    let mut path = String::new();
    for (index, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (FRAME + index % code.width(), FRAME + index / code.width());
            let _ = write!(path, "M{x} {y}h1v1h-1z");
        }
    }
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path fill=\"#000\" d=\"{path}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::svg;

    #[test]
    fn a_code_has_a_frame() {
        assert!(svg("x").unwrap().contains("viewBox=\"0 0 29 29\""));
        assert_eq!(svg(&"x".repeat(3000)), None);
    }
}
