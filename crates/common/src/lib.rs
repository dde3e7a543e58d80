//! Code for all services: settings, HTTP server, limits, metrics, logging, group commit, SQLite and
//! PostgreSQL.
//!
//! Code that depends on the data of one service does not belong here: objects, credentials or
//! payments.

pub mod aside;
pub mod batch;
pub mod bearer;
pub mod body;
pub mod causes;
#[cfg(feature = "store")]
pub mod clock;
pub mod config;
#[cfg(feature = "store")]
pub mod control;
pub mod edge;
pub mod error;
pub mod exit;
pub mod files;
#[cfg(feature = "store")]
pub mod import;
pub mod limits;
#[cfg(feature = "store")]
pub mod migration;
#[cfg(feature = "names")]
pub mod names;
pub mod operations;
pub mod outage;
#[cfg(feature = "pages")]
pub mod pages;
#[cfg(feature = "store")]
pub mod postgres;
pub mod process;
#[cfg(feature = "store")]
pub mod progress;
pub mod serve;
#[cfg(feature = "store")]
pub mod sqlite;
#[cfg(feature = "store")]
pub mod store;
pub mod telemetry;
pub mod throttle;
pub mod tls;

pub use error::ErrorBody;
pub use json_scan as json;
#[cfg(feature = "store")]
pub use sql;
