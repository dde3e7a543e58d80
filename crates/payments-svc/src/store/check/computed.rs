//! Rules that SQL cannot express. The domain functions that booked the values compute them again.

use num_rational::Ratio;
use payments_domain::{CustomData, Exchange, Ppm, multiply_rounded};

use super::rule::{
    Rule,
    Test::{self, Domain},
};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "the gross of a capture is its amount at its rate and spread", test: CAPTURE },
    Rule {
        name: "a slice marked `again` has its share of the gross and fee of its capture",
        test: AGAIN,
    },
    Rule { name: "the reference of a transaction is that of its custom data", test: REFERENCE },
];

const CAPTURE: Test = Domain(
    "SELECT \"transaction\" AS place, gross AS kept,
         amount || ' ' || rate || ' ' || spread AS given
     FROM captures",
    |given| {
        let mut given = given.split(' ');
        let amount = given.next()?.parse().ok()?;
        let (numerator, denominator) = given.next()?.split_once('/')?;
        let positive = |digits: &str| digits.parse().ok().filter(|&number: &i128| number > 0);
        let rate = Ratio::new(positive(numerator)?, positive(denominator)?);
        let spread = given.next()?.parse().ok().filter(|&parts| parts <= Ppm::WHOLE)?;
        let exchange = Exchange { rate, spread: Ppm::stored(spread) };
        Some(exchange.proceeds(amount).ok()?.to_string())
    },
);

const AGAIN: Test = Domain(
    "SELECT dispute AS place, slices.gross || ' less ' || slices.fee AS kept,
         slices.amount || ' ' || captures.amount || ' ' || captures.gross || ' '
             || captures.fee AS given
     FROM slices JOIN disputes ON disputes.id = dispute
     LEFT JOIN captures ON captures.\"transaction\" = disputes.\"transaction\"
         AND captures.step = slices.step
     WHERE again AND slices.step IS NOT NULL",
    |given| {
        let mut given = given.split(' ').map(|number| number.parse::<i64>().ok());
        let (amount, whole) = (given.next()??, given.next()?.filter(|&whole| whole > 0)?);
        let share = Ratio::new(amount.into(), whole.into());
        let (gross, fee) = (given.next()??, given.next()??);
        Some(format!(
            "{} less {}",
            multiply_rounded(gross, &share).ok()?,
            multiply_rounded(fee, &share).ok()?
        ))
    },
);

const REFERENCE: Test = Domain(
    "SELECT id AS place, custom_reference AS kept, custom AS given
     FROM transactions LEFT JOIN customs ON customs.\"transaction\" = id",
    |custom| {
        let custom = CustomData::parse(serde_json::from_str(custom).ok()?).ok()?;
        Some(custom.reference()?.as_str().to_owned())
    },
);

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(test: &Test, given: &str) -> Option<String> {
        let Domain(_, compute) = test else { unreachable!() };
        compute(given)
    }

    #[test]
    fn the_gross_of_a_capture_is_computed_as_booked() {
        for (given, gross) in [
            ("500 18651/2500 20000", Some("3656")),
            ("17 1/1 0", Some("17")),
            ("17 1/0 0", None),
            ("17 1/-1 0", None),
            ("17 0/1 0", None),
            ("17 x 0", None),
            ("17 1/1 1000001", None),
            ("17 1/1 -1", None),
            ("1000000000000 999999999999999999/1 0", None),
            ("nothing", None),
        ] {
            assert_eq!(computed(&CAPTURE, given).as_deref(), gross, "{given}");
        }
    }

    #[test]
    fn a_slice_marked_again_is_computed_as_booked() {
        for (given, expected) in [
            ("333 500 3662 92", Some("2439 less 61")),
            ("1000 500 3662 92", Some("7324 less 184")),
            ("333 0 3662 92", None),
            ("nothing", None),
        ] {
            assert_eq!(computed(&AGAIN, given).as_deref(), expected, "{given}");
        }
    }
}
