//! A cache of the JSON of transactions that apps read, so that most reads of a transaction use no
//! database and serialize nothing.
//!
//! An entry also says which app read the transaction: a hit must not read whether the app is still
//! a member of the merchant. If a batch ends a membership or deletes an API key, all entries become
//! invalid.
//!
//! Other processes need no attention: the `payout` command changes no transaction, no membership
//! and no API key.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use common::{
    limits::Limited,
    sqlite::{self as engine, LookUp, ReadCache},
};
use payments_domain::{ApiKeyDigest, Id, write::Changes};

pub(in crate::store) struct TransactionCache {
    permitted: Arc<ReadCache<Id, Permitted>>,
    /// Goes up before and after a commit that takes access away. So it is odd during the commit.
    access: AtomicU64,
}

/// The JSON of a transaction, for the app with the key `caller`, while `access` does not change.
#[derive(Clone)]
struct Permitted {
    caller: ApiKeyDigest,
    access: u64,
    json: Bytes,
}

/// The place of a transaction that is being read.
pub(crate) struct Place<'a> {
    place: engine::Place<'a, Id, Permitted>,
    caller: ApiKeyDigest,
    access: u64,
}

impl Place<'_> {
    /// Keeps the JSON of a transaction that the caller may see.
    pub(crate) fn keep(self, json: &Bytes) {
        let Self { place, caller, access } = self;
        if access.is_multiple_of(2) {
            // A copy, because the buffer has unused capacity, which would not count.
            let copy = || Bytes::copy_from_slice(json);
            place.keep(|| Permitted { caller, access, json: copy() });
        }
    }
}

impl TransactionCache {
    /// A cache of at most `bytes`. With 0, it keeps nothing.
    pub(super) fn new(bytes: u64) -> Self {
        let permitted = ReadCache::new("transaction_cache", bytes, |_, permitted| {
            permitted.map_or(0, |permitted: &Permitted| permitted.json.len())
        });
        Self { permitted, access: AtomicU64::new(0) }
    }

    /// The cached JSON, if the app with the key `caller` may see it.
    pub(in crate::store) fn look_up(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> LookUp<Bytes, Place<'_>> {
        let access = self.access.load(Ordering::Acquire);
        let valid = |known: &Permitted| known.access == access && known.caller == caller;
        match self.permitted.look_up(&id, valid) {
            LookUp::Value(permitted) => LookUp::Value(permitted.json),
            LookUp::Absent(place) => LookUp::Absent(Place { place, caller, access }),
        }
    }

    /// Invalidates the entries that the commit of these changes makes old. Keep the result until
    /// after the commit.
    pub(super) fn change<'a>(&'a self, changes: &'a Changes) -> impl Drop + use<'a> {
        let ends_access = changes.rows.api_keys.deleted_keys().next().is_some()
            || changes.rows.merchant_apps.deleted_keys().next().is_some();
        let changed = changes.rows.transaction_amounts.updated_rows().map(|row| &row.id);
        let changing = self.permitted.change(changed);
        AccessChange::begin(ends_access.then_some(&self.access), changing)
    }

    /// For the metrics.
    pub(in crate::store) fn limit(&self) -> Arc<dyn Limited> {
        Arc::clone(&self.permitted) as _
    }

    /// Reads that found their transaction in the cache, and reads that did not.
    pub(in crate::store) fn hits_and_misses(&self) -> (u64, u64) {
        self.permitted.hits_and_misses()
    }
}

struct AccessChange<'a> {
    access: Option<&'a AtomicU64>,
    _transactions: engine::Changing<'a, Id, Permitted>,
}

impl<'a> AccessChange<'a> {
    fn begin(
        access: Option<&'a AtomicU64>,
        transactions: engine::Changing<'a, Id, Permitted>,
    ) -> Self {
        let change = Self { access, _transactions: transactions };
        change.count();
        change
    }

    fn count(&self) {
        if let Some(access) = self.access {
            access.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for AccessChange<'_> {
    fn drop(&mut self) {
        self.count();
    }
}
