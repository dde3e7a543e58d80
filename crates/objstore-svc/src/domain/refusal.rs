//! Why the service says no to a well-formed request.

/// Why nothing was done. What is refused changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// There is nothing to read or delete.
    #[error("there is no object under this key")]
    NoObject,
    /// The object belongs, or would belong, to somebody else.
    #[error("the owner is not the registered ID")]
    NotOwner,
    /// The object is not in the state the client asked for.
    #[error("the precondition does not hold")]
    PreconditionFailed,
    /// The identity may not register.
    #[error("this ID may not register")]
    Identity,
    /// There are as many clients as there may be.
    #[error("there are as many clients as there may be")]
    TooManyClients,
    /// The client has as many watches, or as many ended ones, as it may have.
    #[error(
        "the watch limit is reached; ended watches count until a socket has acknowledged the \
         changes before their end: open a socket and answer its pings"
    )]
    TooManyWatches,
}
