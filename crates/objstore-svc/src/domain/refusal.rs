//! Rules of the service that a well-formed request can break.

/// Why a request was rejected. A rejected request changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("there is no object under this key")]
    NoObject,
    /// Only with `OwnerRule::Match`: the `Owner` of the stored or the sent object is another ID.
    #[error("Owner is not the ID of this client")]
    NotOwner,
    /// The access rules do not allow it, or the object does not exist and only its owner may.
    #[error("no access rule lets this client do this with this object")]
    NotAllowed,
    #[error("the precondition does not hold")]
    PreconditionFailed,
    /// Other deletions at the same time need too much memory.
    #[error("too many large objects are being deleted: try again")]
    TooManyDeletions,
    /// A group deletes more than [`DELETE_BYTES`](super::decide::DELETE_BYTES).
    #[error("the batch deletes more than 64 MiB: delete fewer objects at once")]
    GroupTooLarge,
    /// The ID is nil, or is not in the clients file.
    #[error("this ID may not register")]
    IdNotAllowed,
    /// The clients file has a digest for the ID, and the request has no secret with this digest.
    #[error("this ID needs its secret: send Authorization: Bearer <secret>")]
    IdNotProven,
    #[error("the client limit is reached")]
    TooManyClients,
    /// The client was removed after the session of the request was checked.
    #[error("the client was removed: register with POST /register")]
    ClientRemoved,
    /// The limit of open or of ended watches of this client is reached.
    #[error(
        "there are too many watches. An ended watch counts until the client has acknowledged the \
         changes before its end: open a socket and answer its pings"
    )]
    TooManyWatches,
}
