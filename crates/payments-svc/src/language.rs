//! The languages of the pages and mails: which one a reader gets, and how each writes an amount.
//! The texts are Fluent files in `assets/languages`. Amounts follow CLDR, through ICU4X.

mod cldr;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use axum::http::{HeaderMap, header};
use fluent_bundle::{FluentArgs, FluentResource, FluentValue, concurrent::FluentBundle};
use icu_experimental::dimension::currency::{
    CurrencyCode, formatter::CurrencyFormatter, options::Width,
};
use icu_locale::Locale;
use payments_domain::{Country, Currency, DecimalAmount, DeclineGroup, Money};
use unic_langid::LanguageIdentifier;

use self::cldr::Cldr;

/// The text of a language's file.
macro_rules! file {
    ($code:literal, $name:literal) => {
        ($code, $name, include_str!(concat!("../assets/languages/", $code, ".ftl")))
    };
}

/// The ISO 639-1 code, the name and the file of each language: English, the other official languages of the
/// European Union, Norwegian, Icelandic and Ukrainian.
static FILES: [(&str, &str, &str); 27] = [
    file!("en", "English"),
    file!("bg", "Български"),
    file!("cs", "Čeština"),
    file!("da", "Dansk"),
    file!("de", "Deutsch"),
    file!("el", "Ελληνικά"),
    file!("es", "Español"),
    file!("et", "Eesti"),
    file!("fi", "Suomi"),
    file!("fr", "Français"),
    file!("ga", "Gaeilge"),
    file!("hr", "Hrvatski"),
    file!("hu", "Magyar"),
    file!("is", "Íslenska"),
    file!("it", "Italiano"),
    file!("lt", "Lietuvių"),
    file!("lv", "Latviešu"),
    file!("mt", "Malti"),
    file!("nb", "Norsk bokmål"),
    file!("nl", "Nederlands"),
    file!("pl", "Polski"),
    file!("pt", "Português"),
    file!("ro", "Română"),
    file!("sk", "Slovenčina"),
    file!("sl", "Slovenščina"),
    file!("sv", "Svenska"),
    file!("uk", "Українська"),
];

/// Regions that write amounts in another way than the language does elsewhere.
static REGIONS: [(&str, &str); 17] = [
    ("de", "AT"),
    ("de", "CH"),
    ("de", "LI"),
    ("en", "AU"),
    ("en", "CA"),
    ("en", "NZ"),
    ("en", "ZA"),
    ("es", "AR"),
    ("es", "CL"),
    ("es", "CO"),
    ("es", "MX"),
    ("es", "US"),
    ("fr", "CA"),
    ("fr", "CH"),
    ("it", "CH"),
    ("nl", "BE"),
    ("pt", "BR"),
];

/// The languages, each followed by its regions.
static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let of_file = |(code, _, text)| {
        let bundle = Arc::new(bundle(code, text));
        let regions = REGIONS.into_iter().filter(move |(language, _)| *language == code);
        let regions = [None].into_iter().chain(regions.map(|(_, region)| Some(region)));
        regions.map(move |region| Language::new(code, region, Arc::clone(&bundle)))
    };
    FILES.into_iter().flat_map(of_file).collect()
});

/// Messages that cannot be parsed are skipped. Pages show them in English.
fn bundle(code: &str, text: &str) -> FluentBundle<FluentResource> {
    let locale: LanguageIdentifier = code.parse().unwrap_or_default();
    let mut bundle = FluentBundle::new_concurrent(vec![locale]);
    // No language here is written from right to left.
    bundle.set_use_isolating(false);
    let resource = FluentResource::try_new(text.to_owned());
    bundle.add_resource_overriding(resource.unwrap_or_else(|(readable, _)| readable));
    bundle
}

/// Parses the texts of all languages, so that no request has to.
pub(super) fn load() {
    LazyLock::force(&LANGUAGES);
}

/// A language, or a language as in one region, with the texts of the pages and mails.
pub(super) struct Language {
    /// Its code, ISO 639-1.
    pub(super) code: &'static str,
    /// One of [`REGIONS`].
    region: Option<&'static str>,
    bundle: Arc<FluentBundle<FluentResource>>,
    /// `None` if ICU4X has no data, which a test excludes.
    amounts: Option<CurrencyFormatter>,
}

/// Symbols that customers type with an amount, also if the currency is not known yet.
const SYMBOLS: [&str; 5] = ["€", "$", "£", "¥", "₴"];

/// Generates a method for each message, with the variables of the message as its arguments. Using
/// an unknown message is a compile error, and so is an unused message.
macro_rules! messages {
    ($($method:ident $id:literal ($($variable:ident),*);)*) => {
        #[deny(dead_code)]
        impl Language {
            $(
                pub(super) fn $method<'a>(
                    &'a self,
                    $($variable: impl Into<FluentValue<'a>>,)*
                ) -> Cow<'a, str> {
                    self.text($id, [$((stringify!($variable), $variable.into())),*])
                }
            )*
        }

        /// The ID of each message, with its variables.
        #[cfg(test)]
        const MESSAGES: &[(&str, &[&str])] = &[$(($id, &[$(stringify!($variable)),*])),*];
    };
}

messages! {
    payment_to_shop "payment-to-shop" (shop);
    test_payment "test-payment" ();
    contact "contact" ();
    terms "terms" ();
    privacy "privacy" ();
    accessibility "accessibility" ();
    amount "amount" ();
    amount_error "amount-error" (decimals);
    currency "currency" ();
    currency_error "currency-error" ();
    currency_unknown "currency-unknown" ();
    proceed "proceed" ();
    card_details "card-details" ();
    form_error "form-error" ();
    card_number "card-number" ();
    card_number_error "card-number-error" ();
    card_number_typo "card-number-typo" ();
    accepted_cards "accepted-cards" ();
    expiry_date "expiry-date" ();
    expiry_date_malformed "expiry-date-malformed" ();
    expiry_date_past "expiry-date-past" ();
    security_code "security-code" ();
    security_code_hint "security-code-hint" ();
    security_code_error "security-code-error" ();
    security_code_back "security-code-back" ();
    security_code_front "security-code-front" ();
    needs_script "needs-script" ();
    card_saved "card-saved" ();
    receipt_email "receipt-email" ();
    pay "pay" (amount);
    processing "processing" ();
    processing_hint "processing-hint" ();
    check_again "check-again" ();
    confirm_payment "confirm-payment" ();
    simulated_bank "simulated-bank" ();
    confirm_card "confirm-card" (last4);
    confirm "confirm" ();
    cancel "cancel" ();
    payment_successful "payment-successful" ();
    payment_successful_hint "payment-successful-hint" ();
    transaction "transaction" ();
    shop "shop" ();
    date "date" ();
    card "card" ();
    reference "reference" ();
    receipt "receipt" ();
    payment_failed "payment-failed" ();
    declined_details "declined-details" ();
    declined_expired "declined-expired" ();
    declined_funds "declined-funds" ();
    declined_bank "declined-bank" ();
    declined_again "declined-again" ();
    declined_unsupported "declined-unsupported" ();
    declined_unconfirmed "declined-unconfirmed" ();
    declined_shop "declined-shop" ();
    try_again "try-again" ();
    back_to_shop "back-to-shop" ();
    link_broken "link-broken" ();
    link_broken_hint "link-broken-hint" ();
    link_used "link-used" ();
    link_expired "link-expired" ();
    form_expired "form-expired" ();
    form_expired_hint "form-expired-hint" ();
    unavailable "unavailable" ();
    unavailable_hint "unavailable-hint" ();
    too_many_attempts "too-many-attempts" ();
    too_many_attempts_hint "too-many-attempts-hint" ();
    invitation_subject "invitation-subject" (merchant);
    invitation_greeting "invitation-greeting" ();
    invitation_by_app "invitation-by-app" (app, merchant);
    invitation "invitation" (merchant);
    invitation_more "invitation-more" ();
    invitation_unexpected "invitation-unexpected" ();
    invitation_link "invitation-link" ();
    sign_in_subject "sign-in-subject" ();
    sign_in_mail "sign-in-mail" ();
    sign_in_unexpected "sign-in-unexpected" ();
    receipt_mail "receipt-mail" (amount, merchant);
    dispute_subject "dispute-subject" (merchant);
    dispute_mail "dispute-mail" (amount, merchant, day);
    payout_subject "payout-subject" (merchant);
    payout_mail "payout-mail" (amount, merchant);
    return_subject "return-subject" (merchant);
    return_mail "return-mail" (amount, merchant);
    webhook_subject "webhook-subject" (merchant);
    webhook_mail "webhook-mail" (merchant);
    more_at_desk "more-at-desk" ();
    sign_in "sign-in" ();
    email_address "email-address" ();
    email_address_hint "email-address-hint" ();
    email_address_error "email-address-error" ();
    send_link "send-link" ();
    check_mail "check-mail" ();
    check_mail_hint "check-mail-hint" (email);
    sign_in_as "sign-in-as" (email);
    sign_in_broken "sign-in-broken" ();
    sign_in_broken_hint "sign-in-broken-hint" ();
    new_link "new-link" ();
    wait_hint "wait-hint" ();
    desk_unavailable "desk-unavailable" ();
    merchants "merchants" ();
    test_mark "test-mark" ();
    sign_out "sign-out" ();
    foreign_form "foreign-form" ();
    foreign_form_hint "foreign-form-hint" ();
    not_found "not-found" ();
    merchant_held "merchant-held" (reason);
    not_approved "not-approved" ();
    payments "payments" ();
    search "search" ();
    more_filters "more-filters" ();
    last_four "last-four" ();
    last_four_error "last-four-error" ();
    first_day "from-day" ();
    last_day "to-day" ();
    day_error "day-error" ();
    state "state" ();
    all_states "all-states" ();
    nothing_found "nothing-found" ();
    download_csv "download-csv" ();
    older_payments "older-payments" ();
    newest_payments "newest-payments" ();
    all_merchants "all-merchants" ();
    balance "balance" ();
    authorized "authorized" ();
    captured "captured" ();
    partly_captured "partly-captured" ();
    refunded "refunded" ();
    partly_refunded "partly-refunded" ();
    voided "voided" ();
    disputed "disputed" ();
    failed "failed" ();
    dispute_won "dispute-won" ();
    dispute_lost "dispute-lost" ();
    evidence_submitted "evidence-submitted" ();
    dispute_accepted "dispute-accepted" ();
    history "history" ();
    fees "fees" ();
    capture "capture" ();
    refund "refund" ();
    release "release" ();
    at_most "at-most" (amount);
    available "available" ();
    left_afterwards "left-afterwards" ();
    changed_meanwhile "changed-meanwhile" ();
    movement_refused "movement-refused" ();
    mails "mails" ();
    mails_hint "mails-hint" ();
    mail_dispute "mail-dispute" ();
    mail_payout "mail-payout" ();
    mail_return "mail-return" ();
    mail_webhook "mail-webhook" ();
    save "save" ();
    saved "saved" ();
    account "account" ();
    authenticator "authenticator" ();
    authenticator_works "authenticator-works" ();
    authenticator_missing "authenticator-missing" ();
    set_up_authenticator "set-up-authenticator" ();
    remove_authenticator "remove-authenticator" ();
    scan_code "scan-code" ();
    qr_code "qr-code" ();
    type_secret "type-secret" ();
    enter_code "enter-code" ();
    code "code" ();
    code_hint "code-hint" ();
    first_code_hint "first-code-hint" ();
    code_error "code-error" ();
    code_locked "code-locked" ();
    recovery_codes "recovery-codes" ();
    recovery_codes_hint "recovery-codes-hint" ();
    recovery_codes_left "recovery-codes-left" (count);
    new_recovery_codes "new-recovery-codes" ();
    sessions "sessions" ();
    session_began "session-began" (time);
    session_used "session-used" (time);
    this_session "this-session" ();
    end_sessions "end-sessions" ();
    payouts "payouts" ();
    all_payouts "all-payouts" ();
    payout "payout" ();
    payout_returned "payout-returned" ();
    paid_out "paid-out" ();
    month "month" ();
    next_page "next-page" ();
    first_page "first-page" ();
    nothing_yet "nothing-yet" ();
    disputes "disputes" ();
    open_disputes "open-disputes" ();
    decided_disputes "decided-disputes" ();
    days_left "days-left" (days);
    inquiry "inquiry" ();
    evidence "evidence" ();
    evidence_text "evidence-text" ();
    evidence_files "evidence-files" ();
    evidence_hint "evidence-hint" ();
    submit_evidence "submit-evidence" ();
    submit_evidence_hint "submit-evidence-hint" ();
    accept_dispute "accept-dispute" ();
    accept_dispute_hint "accept-dispute-hint" ();
    overview "overview" ();
    next_payout "next-payout" ();
    payouts_held "payouts-held" ();
    refused_captures "refused-captures" ();
    disabled_webhooks "disabled-webhooks" ();
    last_days "last-days" ();
    days_in_utc "days-in-utc" ();
    as_table "as-table" ();
    day "day" ();
    people "people" ();
    member_since "member-since" (time);
    invited "invited" ();
    invited_until "invited-until" (time);
    invitation_expired "invitation-expired" ();
    invite "invite" ();
    invite_hint "invite-hint" ();
    invite_again "invite-again" ();
    remove "remove" (name);
    remove_hint "remove-hint" ();
    remove_yourself "remove-yourself" ();
    remove_button "remove-button" ();
    last_member "last-member" ();
    apps "apps" ();
    developers "developers" ();
    foreign_app "foreign-app" ();
    api_keys "api-keys" ();
    created_on "created-on" (time);
    last_used "last-used" (time);
    never_used "never-used" ();
    key_name "key-name" ();
    create_key "create-key" ();
    key_created "key-created" ();
    too_many_keys "too-many-keys" ();
    last_key "last-key" ();
    remove_key_hint "remove-key-hint" ();
    secret_once "secret-once" ();
    secret_shown "secret-shown" ();
    webhooks "webhooks" ();
    create_webhook "create-webhook" ();
    webhook_url "webhook-url" ();
    webhook_url_error "webhook-url-error" ();
    event_types "event-types" ();
    event_types_hint "event-types-hint" ();
    too_many_webhooks "too-many-webhooks" ();
    enabled "enabled" ();
    disabled "disabled" ();
    disabled_failures "disabled-failures" ();
    disabled_gone "disabled-gone" ();
    send_test "send-test" ();
    new_secret "new-secret" ();
    send_again "send-again" ();
    new_secret_hint "new-secret-hint" ();
    send_again_hint "send-again-hint" ();
    remove_webhook_hint "remove-webhook-hint" ();
    deliveries "deliveries" ();
    delivered "delivered" ();
    next_attempt "next-attempt" (time);
    payment_links "payment-links" ();
    link_text "link-text" ();
    link_text_error "link-text-error" ();
    link_once "link-once" ();
    link_language "link-language" ();
    link_language_browser "link-language-browser" ();
    link_unsigned "link-unsigned" ();
    make_link "make-link" ();
    payment_link "payment-link" ();
    log "log" ();
    operator "operator" ();
    acquirer "acquirer" ();
    automatically "automatically" ();
    fraud_reported "fraud-reported" ();
    acquirer_refused "acquirer-refused" ();
    merchant_released "merchant-released" ();
    bank_changed "bank-changed" ();
    invited_again "invited-again" ();
    invitation_accepted "invitation-accepted" ();
    member_removed "member-removed" ();
    app_added "app-added" ();
    app_removed "app-removed" ();
    key_removed "key-removed" ();
    webhook_created "webhook-created" ();
    webhook_changed "webhook-changed" ();
    webhook_removed "webhook-removed" ();
}

impl Language {
    fn new(
        code: &'static str,
        region: Option<&'static str>,
        bundle: Arc<FluentBundle<FluentResource>>,
    ) -> Self {
        let locale = match (code, region) {
            (_, Some(region)) => format!("{code}-{region}"),
            // CLDR means Brazil by `pt`.
            ("pt", None) => "pt-PT".to_owned(),
            (_, None) => code.to_owned(),
        };
        let locale: Locale = locale.parse().unwrap_or(Locale::UNKNOWN);
        let amounts =
            CurrencyFormatter::try_new_unstable(&Cldr, locale.into(), Width::Short.into()).ok();
        Self { code, region, bundle, amounts }
    }

    /// The code of each language, and its name in the language itself.
    pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.iter().map(|(code, name, _)| (*code, *name))
    }

    pub(super) fn english() -> &'static Self {
        &LANGUAGES[0]
    }

    /// A message. It is in English if this language lacks it.
    fn text<const N: usize>(
        &self,
        id: &'static str,
        variables: [(&'static str, FluentValue<'_>); N],
    ) -> Cow<'_, str> {
        let variables: FluentArgs<'_> = variables.into_iter().collect();
        let mut bundles = [&*self.bundle, &*Self::english().bundle].into_iter();
        let text = bundles.find_map(|bundle| {
            let pattern = bundle.get_message(id)?.value()?;
            Some(bundle.format_pattern(pattern, Some(&variables), &mut Vec::new()))
        });
        text.unwrap_or(Cow::Borrowed(id))
    }

    /// The language that the link asks for, otherwise the best match of `Accept-Language`,
    /// otherwise English.
    pub(super) fn of(locale: Option<&str>, headers: &HeaderMap) -> &'static Self {
        let asked = locale.and_then(Self::named);
        asked.or_else(|| Self::accepted(headers)).unwrap_or_else(Self::english)
    }

    /// The language that is most likely in a country, by CLDR. `None` if it is English, or if there
    /// are no texts in it.
    pub(super) fn of_country(country: &Country) -> Option<&'static Self> {
        let mut locale: LanguageIdentifier = format!("und-{}", country.as_str()).parse().ok()?;
        locale.maximize();
        Self::named(locale.language.as_str()).filter(|language| language.code != "en")
    }

    /// The language of a locale such as `da`, `da-DK` or `da_DK`, as in its region.
    pub(super) fn named(locale: &str) -> Option<&'static Self> {
        let mut parts = locale.trim().split(['-', '_']);
        let code = parts.next()?.to_ascii_lowercase();
        let code = match code.as_str() {
            "no" | "nn" => "nb",
            code => code,
        };
        let region = parts.find(|part| part.len() == 2).map(str::to_ascii_uppercase);
        let mut languages = LANGUAGES.iter().filter(|language| language.code == code);
        let everywhere = languages.next()?;
        Some(languages.find(|language| language.region == region.as_deref()).unwrap_or(everywhere))
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

    /// Formats an amount as people of this language write it, with the symbol of the currency.
    pub(super) fn money(&self, money: Money) -> String {
        let (code, number) = (money.currency.code(), money.decimal());
        let parts = code.parse().ok().zip(number.parse().ok());
        let formatted = parts.zip(self.amounts.as_ref()).map(|((code, number), amounts)| {
            amounts.format_fixed_decimal(&number, &CurrencyCode(code)).to_string()
        });
        formatted.unwrap_or_else(|| format!("{code}\u{a0}{number}"))
    }

    /// An example of an amount, for the empty input field.
    pub(super) fn example(&self) -> String {
        format!("9{}95", self.decimal_mark())
    }

    fn decimal_mark(&self) -> char {
        let sample = self.money(Money { currency: Currency::EUR, minor: 995 });
        if sample.contains(',') { ',' } else { '.' }
    }

    /// Reads an amount as people of this language type it, with or without the symbol or code of
    /// the currency. `None` if it is not an amount.
    pub(super) fn amount_of(
        &self,
        typed: &str,
        currency: Option<Currency>,
    ) -> Option<DecimalAmount> {
        let is_digit = |letter: char| letter.is_ascii_digit();
        let (first, last) = (typed.find(is_digit)?, typed.rfind(is_digit)?);
        let (before, number, after) = (&typed[..first], &typed[first..=last], &typed[last + 1..]);
        let names = currency.map(|currency| [currency.code().to_owned(), self.symbol(currency)]);
        let is_name = |text: &str| {
            let mut names = names.iter().flatten();
            names.any(|name| name.to_lowercase() == text.to_lowercase())
        };
        let is_around = |text: &str| {
            let text = text.trim();
            text.is_empty() || SYMBOLS.contains(&text) || is_name(text)
        };
        let read = || DecimalAmount::parse_input(number, self.decimal_mark()).ok();
        if is_around(before) && is_around(after) { read() } else { None }
    }

    /// The symbol of a currency, such as `€` or `kr.`.
    fn symbol(&self, currency: Currency) -> String {
        let sample = self.money(Money { currency, minor: 0 });
        let first = |letter: char| letter == '0' || letter.is_whitespace();
        let symbol = match sample.split_once(first) {
            Some((before, _)) if !before.is_empty() => before,
            _ => sample.rsplit(first).next().unwrap_or_default(),
        };
        symbol.to_owned()
    }

    /// The text for a group of declines: what the customer can do.
    pub(super) fn reason(&self, group: &DeclineGroup) -> Cow<'_, str> {
        match group {
            DeclineGroup::Details => self.declined_details(),
            DeclineGroup::Funds => self.declined_funds(),
            DeclineGroup::Expired => self.declined_expired(),
            DeclineGroup::Bank => self.declined_bank(),
            DeclineGroup::Unsupported => self.declined_unsupported(),
            DeclineGroup::Unconfirmed => self.declined_unconfirmed(),
            DeclineGroup::Retry => self.declined_again(),
            DeclineGroup::Shop => self.declined_shop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use axum::http::HeaderValue;
    use fluent_syntax::{
        ast::{Entry, Expression, InlineExpression, Message, Pattern, PatternElement},
        parser,
    };
    use payments_domain::{Amount, ProcessingError};

    use super::*;

    fn chosen(locale: Option<&str>, accepted: &'static str) -> &'static str {
        let header = (header::ACCEPT_LANGUAGE, HeaderValue::from_static(accepted));
        Language::of(locale, &HeaderMap::from_iter([header])).code
    }

    fn money(minor: i64, currency: &str) -> Money {
        Money { currency: currency.parse().unwrap(), minor }
    }

    /// The messages of a file.
    fn messages(code: &str, text: &'static str) -> Vec<Message<&'static str>> {
        let resource =
            parser::parse(text).unwrap_or_else(|(_, errors)| panic!("{code}: {errors:?}"));
        let messages = resource.body.into_iter().filter_map(|entry| match entry {
            Entry::Message(message) => Some(message),
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => None,
            Entry::Term(_) | Entry::Junk { .. } => panic!("{code}: {entry:?}"),
        });
        messages.collect()
    }

    /// The variables of a pattern, those of its selectors and variants included.
    fn variables(pattern: &Pattern<&'static str>, found: &mut BTreeSet<&'static str>) {
        for element in &pattern.elements {
            match element {
                PatternElement::TextElement { .. } => {}
                PatternElement::Placeable { expression: Expression::Inline(inline) } => {
                    found.extend(variable(inline));
                }
                PatternElement::Placeable {
                    expression: Expression::Select { selector, variants },
                } => {
                    found.extend(variable(selector));
                    variants.iter().for_each(|variant| variables(&variant.value, found));
                }
            }
        }
    }

    fn variable(expression: &InlineExpression<&'static str>) -> Option<&'static str> {
        match expression {
            InlineExpression::VariableReference { id } => Some(id.name),
            InlineExpression::StringLiteral { .. } => None,
            other => panic!("neither a variable nor a string: {other:?}"),
        }
    }

    #[test]
    fn every_language_has_the_same_messages_in_the_same_order() {
        let expected: Vec<_> = MESSAGES.iter().map(|&(id, _)| id).collect();
        for (code, _, text) in FILES {
            let found: Vec<_> =
                messages(code, text).into_iter().map(|message| message.id.name).collect();
            assert_eq!(found, expected, "{code}");
        }
    }

    #[test]
    fn every_message_has_the_same_variables_in_every_language() {
        for (code, _, text) in FILES {
            for (message, &(id, expected)) in messages(code, text).iter().zip(MESSAGES) {
                let mut found = BTreeSet::new();
                variables(message.value.as_ref().unwrap(), &mut found);
                assert!(found.iter().eq(BTreeSet::from_iter(expected)), "{code}: {id}: {found:?}");
                assert!(message.attributes.is_empty(), "{code}: {id}");
            }
        }
    }

    #[test]
    fn every_message_can_be_formatted() {
        for language in LANGUAGES.iter() {
            for (id, variables) in MESSAGES {
                for decimals in 0..=4 {
                    let value = |&name: &&'static str| (name, FluentValue::from(decimals));
                    let variables = variables.iter().map(value).collect();
                    let message = language.bundle.get_message(id).unwrap();
                    let mut errors = Vec::new();
                    let text = language.bundle.format_pattern(
                        message.value().unwrap(),
                        Some(&variables),
                        &mut errors,
                    );
                    assert!(errors.is_empty() && !text.is_empty(), "{}: {errors:?}", language.code);
                    assert!(!text.contains(['{', '}', '\u{2068}']), "{}: {text}", language.code);
                }
            }
        }
    }

    #[test]
    fn the_texts_of_all_languages_differ() {
        let texts: HashSet<_> =
            LANGUAGES.iter().map(|language| language.processing_hint()).collect();
        assert_eq!(texts.len(), FILES.len());
    }

    #[test]
    fn a_message_that_cannot_be_read_is_in_english() {
        let bundle = bundle("de", "pay = { $amount\ncancel = Abbrechen");
        let language = Language::new("de", None, Arc::new(bundle));
        assert_eq!(language.cancel(), "Abbrechen");
        assert_eq!(language.pay("EUR 1"), "Pay EUR 1");
        assert_eq!(language.text("unknown", []), "unknown");
    }

    #[test]
    fn the_amount_error_uses_the_plural_of_the_language() {
        for (locale, decimals, expected) in [
            ("en", 0, "without decimal places."),
            ("en", 1, "at most 1 decimal place."),
            ("en", 2, "at most 2 decimal places."),
            ("sl", 2, "z največ 2 decimalnima mestoma."),
            ("sl", 3, "z največ 3 decimalnimi mesti."),
            ("cs", 3, "nejvýše na 3 desetinná místa."),
        ] {
            let text = Language::named(locale).unwrap().amount_error(decimals);
            assert!(text.ends_with(expected), "{locale}: {text}");
        }
    }

    #[test]
    fn language_comes_from_link_then_browser_then_english() {
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
    fn language_of_a_country_is_the_likely_one() {
        for (countries, expected) in [
            ("DK", Some("da")),
            ("DE AT CH LI", Some("de")),
            ("NO SJ", Some("nb")),
            ("BE NL", Some("nl")),
            ("FR LU MC", Some("fr")),
            ("GR CY", Some("el")),
            ("MT", Some("mt")),
            ("PT BR", Some("pt")),
            ("UA", Some("uk")),
            ("GB IE US", None),
            ("JP GL AQ", None),
        ] {
            for country in countries.split(' ') {
                let language = Language::of_country(&Country::new(country).unwrap());
                assert_eq!(language.map(|language| language.code), expected, "{country}");
            }
        }
    }

    #[test]
    fn amounts_are_written_as_in_the_language() {
        for (locale, minor, currency, expected) in [
            ("en", 995, "EUR", "€9.95"),
            ("en", 123_456_789, "EUR", "€1,234,567.89"),
            ("en", 1_000, "JPY", "¥1,000"),
            ("en", 995, "USD", "$9.95"),
            ("en", 995, "CHF", "CHF 9.95"),
            ("en", 1, "BHD", "BHD 0.001"),
            ("bg", 995, "EUR", "9,95 €"),
            ("cs", 123_450, "CZK", "1 234,50 Kč"),
            ("da", 123_450, "DKK", "1.234,50 kr."),
            ("de", 995, "EUR", "9,95 €"),
            ("de", 123_456_789, "EUR", "1.234.567,89 €"),
            ("el", 123_450, "EUR", "1.234,50 €"),
            ("es", 123_450, "EUR", "1234,50 €"),
            ("es", 1_234_560, "EUR", "12.345,60 €"),
            ("et", 1_234_560, "EUR", "12 345,60 €"),
            ("fi", 123_450, "EUR", "1 234,50 €"),
            ("fr", 123_450, "EUR", "1 234,50 €"),
            ("ga", 123_450, "EUR", "€1,234.50"),
            ("hr", 123_450, "EUR", "1.234,50 €"),
            ("hu", 123_450_000, "HUF", "1 234 500,00 Ft"),
            ("is", 123_450, "ISK", "123.450 kr."),
            ("it", 123_450, "EUR", "1234,50 €"),
            ("lt", 123_450, "EUR", "1 234,50 €"),
            ("lv", 995, "EUR", "9,95 €"),
            ("mt", 995, "EUR", "€9.95"),
            ("nb", 123_450, "NOK", "1 234,50 kr"),
            ("nl", 123_450, "EUR", "€ 1.234,50"),
            ("pl", 123_450, "PLN", "1234,50 zł"),
            ("pl", 1_000_000, "PLN", "10 000,00 zł"),
            ("pt", 123_450, "EUR", "1234,50 €"),
            ("ro", 123_450, "RON", "1.234,50 RON"),
            ("sk", 123_450, "EUR", "1 234,50 €"),
            ("sl", 123_450, "EUR", "1234,50 €"),
            ("sv", 123_450, "SEK", "1 234,50 kr"),
            ("uk", 123_450, "UAH", "1 234,50 ₴"),
            ("de-CH", 123_450, "CHF", "CHF 1'234.50"),
            ("de_at", 123_450, "EUR", "€ 1 234,50"),
            ("en-GB", 123_450, "GBP", "£1,234.50"),
            ("fr-CA", 123_450, "CAD", "1 234,50 $"),
            ("it-CH", 123_450, "CHF", "CHF 1234.50"),
            ("pt-BR", 123_450, "BRL", "R$ 1.234,50"),
        ] {
            let shown = Language::named(locale).unwrap().money(money(minor, currency));
            // The kinds of spaces are compared below.
            assert_eq!(shown.replace(['\u{a0}', '\u{202f}'], " "), expected, "{locale}");
        }
    }

    #[test]
    fn no_amount_breaks_at_the_end_of_a_line() {
        for language in LANGUAGES.iter() {
            assert!(language.amounts.is_some(), "{}", language.code);
            for currency in ["EUR", "CHF", "JPY", "DKK"] {
                let shown = language.money(money(123_456_789, currency));
                assert!(!shown.contains(' '), "{}: {shown}", language.code);
            }
        }
    }

    #[test]
    fn an_amount_may_be_typed_as_it_is_shown() {
        for language in LANGUAGES.iter() {
            for currency in ["EUR", "DKK", "CHF", "PLN", "JPY"] {
                let amount = money(123_400, currency);
                let read = language.amount_of(&language.money(amount), Some(amount.currency));
                let read = read
                    .unwrap_or_else(|| panic!("{:?}: {}", language.region, language.money(amount)));
                let minor = read.amount(amount.currency).map(Amount::minor);
                assert_eq!(minor, Ok(123_400), "{} {currency}", language.code);
            }
        }
    }

    #[test]
    fn symbols_around_a_typed_amount_are_those_of_its_currency() {
        let read = |locale, typed, currency: &str| {
            let language = Language::named(locale).unwrap();
            language.amount_of(typed, currency.parse().ok()).map(|read| read.as_str().to_owned())
        };
        for (locale, typed, currency, expected) in [
            ("en", "€5", "EUR", "5"),
            ("en", "EUR 5.00", "EUR", "5.00"),
            ("de", "1.234,50 eur", "EUR", "1234.50"),
            ("da", "kr. 9,95", "DKK", "9.95"),
            ("cs", "1 234 kč", "CZK", "1234"),
            ("en", "¥1,000", "unknown", "1000"),
        ] {
            assert_eq!(read(locale, typed, currency).as_deref(), Some(expected), "{typed}");
        }
        for typed in ["ten", "5 kr", "SEK 5", "-5", "€-5", ".5", "5.", "5 5 EUR", "", "€"] {
            assert_eq!(read("en", typed, "EUR"), None, "{typed}");
        }
    }

    #[test]
    fn the_texts_of_decline_groups_differ() {
        let errors = (1..=31).filter_map(ProcessingError::from_code);
        let groups: Vec<_> = errors.map(ProcessingError::group).collect();
        for language in LANGUAGES.iter() {
            let texts: HashSet<_> = groups.iter().map(|group| language.reason(group)).collect();
            assert_eq!(texts.len(), 8, "{}", language.code);
        }
        let english = Language::english();
        assert_eq!(english.reason(&DeclineGroup::Funds), english.declined_funds());
    }
}
