//! The log: what people and apps have done to members, keys and webhooks. No event reports it.

use sql::named;

named! {
    /// What was done.
    pub enum LogKind {
        UserInvited = "user.invited",
        InvitationRenewed = "invitation.renewed",
        InvitationAccepted = "invitation.accepted",
        UserRemoved = "user.removed",
        AppAdded = "app.added",
        AppRemoved = "app.removed",
        KeyCreated = "key.created",
        KeyRemoved = "key.removed",
        WebhookCreated = "webhook.created",
        WebhookChanged = "webhook.changed",
        WebhookRemoved = "webhook.removed",
    }
}
