//! The lock of the hub. The package `interleavings` compiles the hub with another module of this
//! name, whose lock lets a scheduler switch between tasks.

pub(crate) use std::sync::{Mutex, MutexGuard};
