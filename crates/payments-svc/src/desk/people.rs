//! The people of a merchant: who they are, invitations, and removing them.

use std::borrow::Cow;

use askama::Template;
use axum::{extract::RawQuery, http::StatusCode, response::Response};
use payments_domain::{Email, User, actions::RevokeUser, write::MerchantUser};

use super::{
    confirm::ConfirmPage,
    form::{Form, key},
    list::{PAGE, Page, before},
    path::Ids,
    payments::time,
    view::{self, Field},
    visitor::AtMerchant,
};
use crate::{
    app::{self, Member, now},
    web::Error,
};

#[derive(Template)]
#[template(path = "desk/people.html")]
struct PeoplePage<'a> {
    at: &'a AtMerchant,
    people: &'a Page<Member>,
    /// What the user typed, if it is no address.
    wrong: Option<&'a str>,
    /// Why nothing was done.
    refusal: Option<Cow<'a, str>>,
}

impl PeoplePage<'_> {
    fn field(&self) -> Field<'_> {
        let language = self.at.language;
        Field {
            attributes: "type=\"email\" autocomplete=\"off\" required maxlength=\"255\"",
            hint: Some(language.invite_hint()),
            ..Field::email(language, self.wrong)
        }
    }

    fn state(&self, member: &Member) -> Cow<'_, str> {
        let language = self.at.language;
        match (member.accepted, member.until) {
            (Some(accepted), _) => language.member_since(time(&accepted)),
            (None, Some(until)) if until > now() => language.invited_until(time(&until)),
            (None, _) if member.is_mailed => language.invited(),
            (None, _) => language.invitation_expired(),
        }
    }
}

pub(super) async fn show(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    page(&at, query.as_deref(), None, None).await
}

async fn page(
    at: &AtMerchant,
    query: Option<&str>,
    wrong: Option<&str>,
    refusal: Option<Cow<'_, str>>,
) -> Result<Response, Error> {
    let (payments, merchant) = (at.payments(), at.merchant.id);
    let people =
        &Page::read(payments.users(merchant), before(query), PAGE, |member| member.id).await?;
    let status = match (wrong, &refusal) {
        (None, None) => StatusCode::OK,
        (Some(_), _) => StatusCode::BAD_REQUEST,
        (None, Some(_)) => StatusCode::CONFLICT,
    };
    Ok(view::page(status, &PeoplePage { at, people, wrong, refusal }))
}

fn back(at: &AtMerchant) -> Response {
    at.at_merchant("/people")
}

/// Invites a user. Does nothing for one who is a member.
pub(super) async fn invite(form: Form) -> Result<Response, Error> {
    let (at, typed) = (&form.at, form.text("email"));
    let Ok(email) = Email::new(&typed) else { return page(at, None, Some(&typed), None).await };
    let payments = at.payments();
    let invite = async |keyed| payments.invite(at.actor(), at.merchant.id, email, keyed).await;
    payments.once(form.keyed(), invite).await?;
    Ok(back(at))
}

pub(super) async fn renew(Ids([user]): Ids<1>, form: Form) -> Result<Response, Error> {
    let (at, payments) = (&form.at, form.at.payments());
    let about = (at.merchant.id, user);
    let renew = async |keyed| payments.renew_invitation(at.actor(), about, keyed).await;
    payments.once(form.keyed(), renew).await?;
    Ok(back(at))
}

pub(super) async fn ask(at: AtMerchant, Ids([user]): Ids<1>) -> Result<Response, Error> {
    let payments = at.payments();
    let member = payments.row::<MerchantUser>(&(at.merchant.id, user)).await?;
    member.ok_or(app::Error::NotFound)?;
    let email = payments.row::<User>(&user).await?.ok_or(app::Error::NotFound)?.email;
    let language = at.language;
    let (question, hint) = match user == at.user() {
        true => (language.remove_yourself(), language.remove_hint()),
        false => (language.remove(email.as_str()), language.remove_hint()),
    };
    let (at, action, back) = (&at, language.remove_button(), "/people");
    Ok(ConfirmPage { at, question, hint, action, back }.show())
}

pub(super) async fn revoke(Ids([user]): Ids<1>, form: Form) -> Result<Response, Error> {
    let (at, merchant) = (&form.at, form.at.merchant.id);
    match form.write(RevokeUser { merchant, user, keeps_last: true }).await {
        Err(app::Error::Invalid(_)) => page(at, None, None, Some(at.language.last_member())).await,
        revoked => {
            revoked?;
            Ok(if user == at.user() { at.redirect("") } else { back(at) })
        }
    }
}
