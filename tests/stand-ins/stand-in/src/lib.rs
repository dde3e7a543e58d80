//! Code that stand-ins for other systems share, such as demo-portal: certificates of a CA of their
//! own, TLS connections, and the health check of their images.

pub mod certificate;
pub mod connection;
pub mod health;
