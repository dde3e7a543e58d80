//! Tests objstore-svc from outside, against its specification and its contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bodies;
mod broken;
mod clocks;
mod commands;
mod decoders;
mod delivery;
mod document;
mod errors;
mod events;
mod fence;
mod find;
mod import;
mod keys;
mod limits;
mod objects;
mod operations;
mod owners;
mod postgres;
mod preconditions;
mod program;
mod pushes;
mod recovery;
mod registration;
mod replicas;
mod sessions;
mod socket;
mod stopping;
mod unused;
mod upgrade;
mod values;
mod watching;
mod witness;
