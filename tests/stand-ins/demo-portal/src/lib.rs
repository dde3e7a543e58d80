//! A stand-in for the academic portal of authsvc, for tests and development. It serves the same two
//! calls over TLS to a few demo students. Scripts make it fail as a portal, a network or a
//! certificate can fail. Institution and people are invented.
//!
//! [`Portal::start`] starts a portal on a free port and on separate threads. A [`Portal`]
//! dereferences to its [`Controller`], which enrols students, sets scripts and returns received
//! calls. Tests can share a portal if each test uses its own username.
//!
//! ```no_run
//! use demo_portal::{Behaviour, Delivery, Operation, Options, Portal, Script, Student};
//!
//! let portal = Portal::start(Options::default())?;
//! portal.enrol(Student::new("zoe", "opensesame").info("ClassName", 5));
//! portal.script("zoe", Operation::Login, Behaviour::answer(503, "come back later"));
//! portal.script("zoe", Operation::Profile, Script::queue([Delivery::ResetMidway.into()]));
//! assert!(portal.received("zoe").is_empty());
//! # Ok::<_, demo_portal::StartError>(())
//! ```
//!
//! # The control interface
//!
//! The functions of [`Controller`] for tests in another process: JSON over plain HTTP on a separate
//! port.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `PUT /_students/{username}` | a [`Student`]; `{"password": "…"}` has the default profile | 204 |
//! | `PUT /_script/{username}` | `{"login": S, "profile": S}`, each a [`Script`] of [`Behaviour`]s or absent; `*` is [`ANYONE`] | 204 |
//! | `PUT /_tls` | a [`Script`] of [`Tls`]: `{"next": ["expired"], "then": "valid"}` | 204 |
//! | `GET /_received/{username}` | | a list of [`Received`] |
//! | `GET /_counters` | | [`Counters`] |
//!
//! In this example, the first profile request gets 401, and all others get an honest answer after
//! half a second. The next two logins end with a reset:
//!
//! ```json
//! {"profile": {"next": [{"answer": {"status": 401, "body": {"text": ""}}}], "then": {"delay_ms":
//! 500}},
//!  "login": {"next": [{"delivery": "reset_before"}, {"delivery": "reset_midway"}]}}
//! ```

mod call;
mod certificate;
pub mod config;
mod connection;
mod control;
mod controller;
mod delivery;
mod honest;
mod portal;
mod record;
mod script;
mod student;

pub use controller::Controller;
pub use portal::{Options, Portal, StartError};
pub use record::{Counters, Outcome, Received};
pub use script::{ANYONE, Answer, Behaviour, Content, Delivery, Operation, Script, Tls};
pub use student::{CAMPUSES, Student, demo_students};
