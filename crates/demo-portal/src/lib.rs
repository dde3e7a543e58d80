//! The stand-in for the academic portal that authsvc signs in at: the same two calls over TLS, a
//! few demo students, and any failure on demand. Institution and people are invented.
//!
//! [`Portal::start`] starts one, on a free port and with threads of its own. It dereferences to its
//! [`Desk`], where tests enrol students, hand in scripts and read what was received. Tests that
//! share a portal do not disturb each other when each makes up its own user.
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
//! The same for tests in another process: plain HTTP, on a port of its own, JSON in and out.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `PUT /_students/{username}` | a [`Student`]: `{"password": "…"}` is an ordinary one | 204 |
//! | `PUT /_script/{username}` | `{"login": S, "profile": S}`, each a [`Script`] of [`Behaviour`]s or left out; `*` is [`ANYONE`] | 204 |
//! | `PUT /_tls` | a [`Script`] of [`Tls`]: `{"next": ["expired"], "then": "valid"}` | 204 |
//! | `GET /_received/{username}` | | a list of [`Received`] |
//! | `GET /_counters` | | [`Counters`] |
//!
//! A script that answers 401 once, then honestly but half a second late, and the next two logins
//! with a reset:
//!
//! ```json
//! {"profile": {"next": [{"answer": {"status": 401, "body": {"text": ""}}}], "then": {"delay_ms": 500}},
//!  "login": {"next": [{"delivery": "reset_before"}, {"delivery": "reset_midway"}]}}
//! ```

mod call;
mod certificate;
pub mod config;
mod connection;
mod control;
mod delivery;
mod desk;
mod health;
mod honest;
mod portal;
mod record;
mod script;
mod student;

pub use desk::Desk;
pub use health::{HealthError, healthcheck};
pub use portal::{Options, Portal, StartError};
pub use record::{Counters, Outcome, Received};
pub use script::{ANYONE, Answer, Behaviour, Content, Delivery, Operation, Script, Tls};
pub use student::{CAMPUSES, Student, demo_students};
