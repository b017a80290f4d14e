//! The open with `reuse_manifest_on_open`: continues the old MANIFEST if this is safe.

use super::context::Opening;
use super::setup::manifest_settings;
use crate::family::{Family, FamilySet};
use crate::manifest::{Manifest, ManifestEnd, Recovered};
use crate::sync::Arc;

impl Opening {
    /// Returns the MANIFEST that was read, open at its end. Returns `None` if the MANIFEST must not be
    /// reused: a new MANIFEST only costs time. A reused MANIFEST must end where reading ended, must name
    /// the epoch number of each SST file, must have been read as a whole, and must be proved durable. The
    /// proof is necessary because a sync may have failed, and a second sync of bytes that the system shows
    /// from memory does nothing. A reused MANIFEST must also state the comparator and `persist_user_defined_timestamps` of
    /// each column family: this open may turn timestamps on or off, and only a new MANIFEST records the change.
    pub(super) fn reuse_manifest(&self, recovered: &Recovered, families: &FamilySet) -> Option<Manifest> {
        let o = &self.options;
        let sure = matches!(recovered.end, ManifestEnd::Proved);
        if !o.reuse_manifest_on_open || o.best_efforts_recovery || !sure {
            return None;
        }
        let files = || recovered.families.values().flat_map(|family| family.files.values());
        if files().any(|file| !file.epoch_number.is_known()) {
            return None;
        }
        let is_changed = |family: &Arc<Family>| {
            let record = recovered.families.get(&family.id());
            record.is_some_and(|record| {
                let comparator = record.comparator.as_deref();
                comparator.is_some_and(|name| name != family.order().user.name())
                    || record.persist_user_defined_timestamps.unwrap_or(true)
                        != family.parts().stored.timestamps
            })
        };
        if families.all().iter().any(is_changed) {
            return None;
        }
        let settings = manifest_settings(o, &self.paths);
        match Manifest::reopen(self.env.clone(), settings, recovered) {
            Ok(manifest) => Some(manifest),
            Err(error) => {
                self.events.info(format_args!("reuse_manifest_on_open: a new MANIFEST is written: {error}"));
                None
            }
        }
    }
}
