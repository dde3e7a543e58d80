//! The changes of the store that handlers and jobs request: one file each, with what it needs and
//! what it decides. `domain/write.rs` explains how they run.

mod add_app;
mod add_user;
mod advance_clock;
mod begin_payment;
mod challenge_payment;
mod conclude_payment;
mod create_api_key;
mod create_app;
mod create_merchant;
mod create_webhook;
mod delete_api_key;
mod delete_events;
mod delete_keys;
mod delete_webhook;
mod finish_advance;
mod movement;
mod pay_out;
mod prepare_payment;
mod record_api_key_uses;
mod record_deliveries;
mod record_notification;
mod record_sending;
mod refuse_entry;
mod remove_invitation;
mod replay_webhook;
mod revoke_app;
mod revoke_user;
mod rotate_webhook;
mod save_card;
mod save_expiry_cursor;
mod set_link_secret;
mod start_invitation_attempt;
mod update_merchant;
mod update_webhook;

pub(crate) use self::{
    add_app::AddApp,
    add_user::{AddUser, UserAdded},
    advance_clock::AdvanceClock,
    begin_payment::{BeginPayment, PaymentBegun},
    challenge_payment::ChallengePayment,
    conclude_payment::{ConcludePayment, PaymentConcluded},
    create_api_key::CreateApiKey,
    create_app::CreateApp,
    create_merchant::CreateMerchant,
    create_webhook::CreateWebhook,
    delete_api_key::DeleteApiKey,
    delete_events::DeleteEvents,
    delete_keys::DeleteKeys,
    delete_webhook::DeleteWebhook,
    finish_advance::FinishAdvance,
    movement::Move,
    pay_out::PayOut,
    prepare_payment::PreparePayment,
    record_api_key_uses::RecordApiKeyUses,
    record_deliveries::RecordDeliveries,
    record_notification::RecordNotification,
    record_sending::RecordSending,
    refuse_entry::RefuseEntry,
    remove_invitation::RemoveInvitation,
    replay_webhook::ReplayWebhook,
    revoke_app::RevokeApp,
    revoke_user::RevokeUser,
    rotate_webhook::RotateWebhook,
    save_card::{CardSaved, SaveCard},
    save_expiry_cursor::SaveExpiryCursor,
    set_link_secret::SetLinkSecret,
    start_invitation_attempt::StartInvitationAttempt,
    update_merchant::UpdateMerchant,
    update_webhook::UpdateWebhook,
};
