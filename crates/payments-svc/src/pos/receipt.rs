//! `GET /receipt`: the receipt of a payment, in any browser that has the link of the mail.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
};
use payments_domain::{CustomData, Money, Receipt, Transaction};

use super::{
    language::Language,
    problem::{Problem, Reason},
    screens::{Frame, Refund, ResultPage},
    settings::Settings,
    view,
};
use crate::{
    app::{self, MailedReceipt, Payments},
    web::fields,
};

/// Shows the result of the payment, with what was refunded since.
pub(super) async fn show(
    State(payments): State<Arc<Payments>>,
    State(settings): State<Arc<Settings>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let language = Language::of(None, &headers);
    let because =
        |reason| Problem { language, reason, shop: None, settings: Arc::clone(&settings) };
    let refused = |error: app::Error| because(Reason::of(error.into()));
    let link = fields::read_query(uri.query(), |fields| {
        fields.required("link", |link| Ok::<_, app::Error>(link.to_owned()))
    });
    let transaction = settings.receipts.as_ref().zip(link.ok());
    let transaction = transaction.and_then(|(links, link)| links.transaction(&link));
    let id = transaction.ok_or_else(|| refused(app::Error::NotFound))?;
    let receipt = payments.mailed_receipt(id).await.map_err(refused)?;
    let receipt = receipt.ok_or_else(|| because(Reason::LinkExpired))?;
    let language = Language::named(&receipt.language).unwrap_or(language);
    let money = |minor| language.money(Money { currency: receipt.transaction.currency, minor });
    let refunds = receipt.refunds().into_iter();
    let refunds = refunds.map(|step| Refund { created: step.created, amount: money(step.amount) });
    let refunds = Some(refunds.collect());
    let MailedReceipt { merchant, transaction, .. } = &receipt;
    let Transaction { id, created, amounts, ref card, ref custom, .. } = *transaction;
    let reference = custom.as_ref().and_then(CustomData::reference_text);
    let amount = Some(money(amounts.amount));
    let page = ResultPage {
        language,
        frame: Frame { merchant, settings: &settings, amount, text: None },
        reference: reference.as_deref(),
        transaction: Some(id),
        receipt: Some(Receipt { created, card: card.clone() }),
        refunds,
        declined: None,
        shop_url: None,
        continues: false,
    };
    Ok(view::page(StatusCode::OK, &page))
}
