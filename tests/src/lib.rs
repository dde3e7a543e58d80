//! The harness of the black-box tests. They know the services only from outside: a process, its
//! HTTP interface, its sockets and the OpenAPI document it goes by.
//!
//! A test asks for [`objstore::Service::any`] and gets a process of its own on a free port, or the
//! service that `OBJSTORE_URL` names (`AUTHSVC_URL` for [`authsvc::Service::any`], `PAYMENTS_URL` and
//! `PAYMENTS_POS_URL` for [`payments::Service::any`]). Tests that need settings of their own, or that
//! stop what they test, always start a process. Whatever a [`objstore::Client`], [`objstore::Socket`]
//! or [`payments::App`] receives is held against the document; an answer that is not described there
//! fails the test.
//! [`browser::visit`] opens a page in a browser of its own.

#![expect(
    clippy::expect_used,
    reason = "a harness that cannot go on fails its test, and says where"
)]

pub mod authsvc;
pub mod browser;
pub mod cgroup;
pub mod http;
pub mod mail;
pub mod objstore;
pub mod openapi;
pub mod page;
pub mod payments;
pub mod postgres;
pub mod process;
pub mod project;
pub mod raw;
pub mod settings;
pub mod soak;
