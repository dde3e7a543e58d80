//! The changes of the store that handlers and jobs request: one file each, with what it needs and
//! what it decides. `write.rs` explains how they run.

macro_rules! actions {
    ($($file:ident),* $(,)?) => {$(
        mod $file;
        pub use $file::*;
    )*};
}

actions! {
    add_app,
    add_user,
    advance_clock,
    approve_merchant,
    begin_payment,
    challenge_payment,
    choose_mails,
    close_payout_run,
    conclude_payment,
    create_api_key,
    create_app,
    create_merchant,
    create_sign_in_link,
    create_webhook,
    delete_api_key,
    delete_events,
    delete_keys,
    delete_webhook,
    end_sessions,
    finish_advance,
    hold_merchant,
    movement,
    open_payout_run,
    open_sign_in_link,
    pay_out,
    prepare_payment,
    record_api_key_uses,
    record_deliveries,
    record_notification,
    record_sending,
    refuse_entry,
    remove_mail,
    replay_webhook,
    request_sign_in,
    return_payout,
    revoke_app,
    revoke_user,
    rotate_webhook,
    save_card,
    save_expiry_cursor,
    save_facts_position,
    set_bank,
    set_link_secret,
    sign_in,
    start_mail_attempt,
    tell_members,
    update_merchant,
    update_webhook,
    use_session,
}
