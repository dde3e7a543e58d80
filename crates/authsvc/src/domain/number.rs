//! Numbers in JSON text.

/// The most zeros at the end of a number that fits into a double.
const MAX_ZEROS: usize = 308;

/// The digits of a whole number, in any valid JSON spelling: `9.87E2` becomes `987`. `None` for any
/// other number. No digit is lost, because nothing is converted to binary.
pub(super) fn digits(number: &[u8]) -> Option<String> {
    let number = str::from_utf8(number).ok()?;
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let exponent: i64 = exponent.parse().ok()?;
    let places =
        i64::try_from(all.len() - digits.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let zeros = usize::try_from(exponent.checked_add(places)?).ok()?;
    if zeros > MAX_ZEROS {
        return None;
    }
    Some(format!("{sign}{}{}", digits.trim_start_matches('0'), "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_becomes_its_digits_in_any_spelling() {
        for (number, expected) in [
            ("9876543210", "9876543210"),
            ("9.87654321E9", "9876543210"),
            ("9.876543210e+9", "9876543210"),
            ("9876543210.00", "9876543210"),
            ("98765432100000e-4", "9876543210"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("0.5e1", "5"),
            ("-1.20e2", "-120"),
            ("0", "0"),
            ("-0.0E99999999999999999999", "0"),
            ("1e22", "10000000000000000000000"),
        ] {
            assert_eq!(digits(number.as_bytes()).as_deref(), Some(expected), "{number}");
        }
        for number in ["8.4", "5e-1", "1.25e1", "120e-2", "1e309", "1e99999999999999999999"] {
            assert_eq!(digits(number.as_bytes()), None, "{number}");
        }
    }
}
