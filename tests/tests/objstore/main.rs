//! Tests objstore-svc from outside, against its specification and its contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bodies;
mod broken;
mod cached;
mod clocks;
mod commands;
mod console;
mod copies;
mod decoders;
mod delivery;
mod document;
mod epochs;
mod errors;
mod events;
mod expiry;
mod fence;
mod find;
mod game;
mod import;
mod keys;
mod limits;
mod manual;
mod objects;
mod operations;
mod origins;
mod owners;
mod postgres;
mod preconditions;
mod presence;
mod program;
mod published;
mod pushes;
mod recovery;
mod registration;
mod replicas;
mod rules;
mod sessions;
mod socket;
mod stopping;
mod streams;
mod unused;
mod upgrade;
mod values;
mod watching;
mod witness;
