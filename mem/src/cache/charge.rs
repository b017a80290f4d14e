//! Charges the memory of a whole cache to another account: a blob cache whose values count in the block cache.
//!
//! The charge follows the usage of the cache after the calls that name it; it is not exact in between. Facts: RocksDB
//! `cache/charged_cache.cc`.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::{Cache, Ledger, Reservation, Role};

/// The charge of one cache to one account. The drop of the last reference ends the charge.
pub struct UsageCharge {
    ledger: Arc<dyn Ledger>,
    /// Not held during a call of the cache whose usage is charged.
    reservation: Mutex<Reservation>,
}

impl UsageCharge {
    fn is_to(&self, ledger: &Arc<dyn Ledger>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.ledger), Arc::as_ptr(ledger))
    }
}

impl<V: Send + Sync + 'static> Cache<V> {
    /// Charges the usage of this cache to `ledger` under [`Role::BlobCache`], as long as a returned value is alive. Two callers
    /// whose ledgers have the same account share one charge. No byte is charged twice.
    pub fn charge_usage_to(&self, ledger: Arc<dyn Ledger>) -> Arc<UsageCharge> {
        let mut charges = self.usage_charges.lock();
        charges.retain(|charge| charge.strong_count() > 0);
        if let Some(charge) = charges.iter().filter_map(Weak::upgrade).find(|charge| charge.is_to(&ledger)) {
            return charge;
        }
        let reservation = Reservation { ledger: ledger.clone(), role: Role::BlobCache, bytes: 0 };
        let charge = Arc::new(UsageCharge { ledger, reservation: Mutex::new(reservation) });
        charges.push(Arc::downgrade(&charge));
        drop(charges);
        self.follow_usage();
        charge
    }

    /// Sets the charges of [`Cache::charge_usage_to`] to the usage of this cache. If an account with a strict limit has no room, its
    /// charge stays as it is.
    pub fn follow_usage(&self) {
        let charges: Vec<_> = self.usage_charges.lock().iter().filter_map(Weak::upgrade).collect();
        for charge in charges {
            let usage = self.usage();
            // The value is in the cache already. RocksDB ignores the error too.
            let _ = charge.reservation.lock().set(usage);
        }
    }
}
