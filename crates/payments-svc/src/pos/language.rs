//! The languages of the pages: which one a customer gets, and how each writes an amount.

use axum::http::{HeaderMap, header};

use crate::domain::{DeclineGroup, Money};

mod bg;
mod cs;
mod da;
mod de;
mod el;
mod en;
mod es;
mod et;
mod fi;
mod fr;
mod ga;
mod hr;
mod hu;
mod is;
mod it;
mod lt;
mod lv;
mod mt;
mod nb;
mod nl;
mod pl;
mod pt;
mod ro;
mod sk;
mod sl;
mod sv;
mod uk;

/// Every language: those of the European Union, Norwegian, Icelandic and Ukrainian.
static ALL: [&Language; 27] = [
    &bg::LANGUAGE,
    &cs::LANGUAGE,
    &da::LANGUAGE,
    &de::LANGUAGE,
    &el::LANGUAGE,
    &en::LANGUAGE,
    &es::LANGUAGE,
    &et::LANGUAGE,
    &fi::LANGUAGE,
    &fr::LANGUAGE,
    &ga::LANGUAGE,
    &hr::LANGUAGE,
    &hu::LANGUAGE,
    &is::LANGUAGE,
    &it::LANGUAGE,
    &lt::LANGUAGE,
    &lv::LANGUAGE,
    &mt::LANGUAGE,
    &nb::LANGUAGE,
    &nl::LANGUAGE,
    &pl::LANGUAGE,
    &pt::LANGUAGE,
    &ro::LANGUAGE,
    &sk::LANGUAGE,
    &sl::LANGUAGE,
    &sv::LANGUAGE,
    &uk::LANGUAGE,
];

/// A language, with everything that pages say in it. What stands in braces is put in.
#[derive(Debug, PartialEq)]
pub(super) struct Language {
    /// Its code, ISO 639-1.
    pub(super) code: &'static str,
    /// What stands before the decimal places of a number.
    decimal_mark: &'static str,
    /// What stands between the thousands of a number.
    group_mark: &'static str,
    /// `{number}` and `{currency}` in their order.
    amount: &'static str,

    // Every page.
    /// With `{shop}`.
    title: &'static str,
    pub(super) test: &'static str,

    // The screen where an amount is entered.
    pub(super) amount_label: &'static str,
    pub(super) amount_error: &'static str,
    pub(super) currency_label: &'static str,
    pub(super) currency_error: &'static str,
    pub(super) go_on: &'static str,

    // The form for a card.
    pub(super) errors: &'static str,
    pub(super) number: &'static str,
    pub(super) number_error: &'static str,
    pub(super) expiry: &'static str,
    /// As short as the digits that stand in its place.
    pub(super) expiry_format: &'static str,
    pub(super) expiry_error: &'static str,
    pub(super) security_code: &'static str,
    pub(super) security_code_hint: &'static str,
    pub(super) security_code_error: &'static str,
    pub(super) kept: &'static str,
    /// With `{amount}`.
    pay: &'static str,

    // A payment under way.
    pub(super) processing: &'static str,
    pub(super) processing_hint: &'static str,
    pub(super) challenge: &'static str,
    pub(super) challenge_simulated: &'static str,
    /// With `{last4}`.
    challenge_card: &'static str,
    pub(super) confirm: &'static str,
    pub(super) cancel: &'static str,

    // What came of it.
    pub(super) paid: &'static str,
    pub(super) paid_hint: &'static str,
    pub(super) transaction: &'static str,
    pub(super) not_paid: &'static str,
    error_details: &'static str,
    error_expired: &'static str,
    error_funds: &'static str,
    error_bank: &'static str,
    error_again: &'static str,
    error_unsupported: &'static str,
    error_3d_secure: &'static str,
    error_shop: &'static str,
    pub(super) try_again: &'static str,
    pub(super) back: &'static str,

    // No payment at all.
    pub(super) broken: &'static str,
    pub(super) broken_hint: &'static str,
    pub(super) unavailable: &'static str,
    pub(super) unavailable_hint: &'static str,
    pub(super) too_many: &'static str,
    pub(super) too_many_hint: &'static str,
}

impl Language {
    /// The language that the link asks for; else the one that the browser likes best of those there
    /// are; else English.
    pub(super) fn of(locale: Option<&str>, headers: &HeaderMap) -> &'static Self {
        let asked = locale.and_then(Self::named);
        asked.or_else(|| Self::accepted(headers)).unwrap_or(&en::LANGUAGE)
    }

    /// The language of a locale such as `da`, `da-DK` or `da_DK`.
    fn named(locale: &str) -> Option<&'static Self> {
        let code = locale.trim().split(['-', '_']).next()?.to_ascii_lowercase();
        let code = match code.as_str() {
            "no" | "nn" => "nb",
            code => code,
        };
        ALL.into_iter().find(|language| language.code == code)
    }

    fn accepted(headers: &HeaderMap) -> Option<&'static Self> {
        let accepted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
        let weighed = accepted.split(',').filter_map(|range| {
            let (locale, weight) = range.split_once(';').unwrap_or((range, "q=1"));
            let weight = weight.trim().strip_prefix("q=")?;
            Some((Self::named(locale)?, weight.parse::<f32>().ok()?))
        });
        let mut wanted: Vec<_> = weighed.filter(|&(_, weight)| weight > 0.0).collect();
        wanted.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        wanted.first().map(|&(language, _)| language)
    }

    /// An amount.
    pub(super) fn money(&self, money: Money) -> String {
        let major = money.decimal();
        let (whole, places) = major.split_once('.').unwrap_or((&major, ""));
        let mut number = String::new();
        for (at, digit) in whole.char_indices() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                number.push_str(self.group_mark);
            }
            number.push(digit);
        }
        if !places.is_empty() {
            number.push_str(self.decimal_mark);
            number.push_str(places);
        }
        self.amount.replace("{number}", &number).replace("{currency}", money.currency.code())
    }

    /// An amount as it may be typed in.
    pub(super) fn example(&self) -> String {
        format!("9{}95", self.decimal_mark)
    }

    /// Who is paid.
    pub(super) fn title(&self, shop: &str) -> String {
        self.title.replace("{shop}", shop)
    }

    /// What the button says that pays.
    pub(super) fn pay(&self, amount: &str) -> String {
        self.pay.replace("{amount}", amount)
    }

    /// Which card it is.
    pub(super) fn challenge_card(&self, last4: &str) -> String {
        self.challenge_card.replace("{last4}", last4)
    }

    /// Why nothing was paid, as far as a customer can do something about it.
    pub(super) fn reason(&self, group: &DeclineGroup) -> &'static str {
        match group {
            DeclineGroup::Details => self.error_details,
            DeclineGroup::Funds => self.error_funds,
            DeclineGroup::Expired => self.error_expired,
            DeclineGroup::Bank => self.error_bank,
            DeclineGroup::Unsupported => self.error_unsupported,
            DeclineGroup::Unconfirmed => self.error_3d_secure,
            DeclineGroup::Again => self.error_again,
            DeclineGroup::Shop => self.error_shop,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use axum::http::HeaderValue;

    use super::*;
    use crate::domain::ProcessingError;

    fn chosen(locale: Option<&str>, accepted: &'static str) -> &'static str {
        let header = (header::ACCEPT_LANGUAGE, HeaderValue::from_static(accepted));
        Language::of(locale, &HeaderMap::from_iter([header])).code
    }

    fn money(minor: i64, currency: &str) -> Money {
        Money { currency: currency.parse().unwrap(), minor }
    }

    #[test]
    fn the_languages_are_those_of_the_contract_each_once() {
        let codes: HashSet<_> = ALL.iter().map(|language| language.code).collect();
        assert_eq!(codes.len(), ALL.len());
        for code in ["bg", "ga", "mt", "nb", "is", "uk", "en"] {
            assert!(codes.contains(code), "{code}");
        }
    }

    #[test]
    fn what_is_put_into_a_text_has_its_place_there() {
        for language in ALL {
            let code = language.code;
            assert_eq!(language.title.matches("{shop}").count(), 1, "{code}");
            assert_eq!(language.pay.matches("{amount}").count(), 1, "{code}");
            assert_eq!(language.challenge_card.matches("{last4}").count(), 1, "{code}");
            assert_eq!(language.amount.matches("{number}").count(), 1, "{code}");
            assert_eq!(language.amount.matches("{currency}").count(), 1, "{code}");
            // No other brace, no empty text, nothing left in English.
            let all = format!("{language:?}").replace("\\u{", "");
            assert_eq!(all.matches('{').count(), 1 + 5, "{all}");
            assert!(!all.contains("\"\""), "{all}");
            let same = code == "en" || language.processing != en::LANGUAGE.processing;
            assert!(same && language.expiry_format.chars().count() == 7, "{code}");
        }
    }

    #[test]
    fn the_link_chooses_the_language_then_the_browser_then_it_is_english() {
        for (locale, accepted, expected) in [
            (Some("da"), "de", "da"),
            (Some("da-DK"), "de", "da"),
            (Some("da_DK"), "", "da"),
            (Some("DA"), "", "da"),
            (Some("no"), "", "nb"),
            (Some("nn-NO"), "", "nb"),
            (Some("xx"), "de", "de"),
            (Some(""), "", "en"),
            (None, "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr"),
            (None, "xx, de;q=0.4, sv;q=0.6", "sv"),
            (None, "de;q=0, sv;q=0.1", "sv"),
            (None, "de; q=0.5, sv ;q=0.6", "sv"),
            (None, "de;q=x", "en"),
            (None, "zh, *", "en"),
        ] {
            assert_eq!(chosen(locale, accepted), expected, "{locale:?} {accepted}");
        }
        assert_eq!(Language::of(None, &HeaderMap::new()).code, "en");
    }

    #[test]
    fn amounts_are_written_as_in_the_language() {
        for (locale, minor, currency, expected) in [
            ("en", 123_456_789, "EUR", "EUR\u{a0}1,234,567.89"),
            ("de", 123_456_789, "EUR", "1.234.567,89\u{a0}EUR"),
            ("fr", 123_456, "EUR", "1\u{202f}234,56\u{a0}EUR"),
            ("da", 995, "DKK", "9,95\u{a0}DKK"),
            ("sv", 100_000, "JPY", "100\u{a0}000\u{a0}JPY"),
            ("mt", 1, "BHD", "BHD\u{a0}0.001"),
        ] {
            let language = Language::named(locale).unwrap();
            assert_eq!(language.money(money(minor, currency)), expected, "{locale}");
        }
    }

    #[test]
    fn every_group_of_declines_has_a_text_of_its_own() {
        let errors = (1..=31).filter_map(ProcessingError::coded);
        let groups: Vec<_> = errors.map(ProcessingError::group).collect();
        for language in ALL {
            let texts: HashSet<_> = groups.iter().map(|group| language.reason(group)).collect();
            assert_eq!(texts.len(), 8, "{}", language.code);
        }
        assert_eq!(en::LANGUAGE.reason(&DeclineGroup::Funds), en::LANGUAGE.error_funds);
    }
}
