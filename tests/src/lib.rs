//! The harness of the black-box tests. It uses only the outside of a service: its process, its HTTP
//! interface, its sockets and its OpenAPI document.
//!
//! 1. [`objstore::Service::any`], [`authsvc::Service::any`] and [`payments::Service::any`] start a
//!    new process on a free port. If `OBJSTORE_URL`, `AUTHSVC_URL`, or `PAYMENTS_URL` and
//!    `PAYMENTS_POS_URL` are set, they use the service at that address instead.
//! 2. A test that needs other settings, or stops the service, always starts a process.
//! 3. Every answer to an [`objstore::Client`], [`objstore::Socket`] or [`payments::App`] is checked
//!    against the OpenAPI document. An undescribed answer fails the test.
//! 4. [`browser::visit`] opens a page in a new browser.
//! 5. A function of the harness panics, and so fails its test, when it cannot do what its comment
//!    says.

#![expect(clippy::expect_used, reason = "a failure of the harness fails its test, with the line")]
#![expect(missing_docs, reason = "a comment that restates a name helps no reader of a test")]

pub mod acquirer;
pub mod authenticator;
pub mod authsvc;
pub mod axe;
pub mod browser;
pub mod cgroup;
pub mod clock;
pub mod http;
pub mod mail;
pub mod objstore;
pub mod openapi;
pub mod page;
pub mod payments;
pub mod postgres;
pub mod process;
pub mod project;
mod python;
pub mod raw;
pub mod rereading;
pub mod service;
pub mod settings;
pub mod small_disk;
pub mod soak;
pub mod stopping;
pub mod tables;
pub mod wrapped;
