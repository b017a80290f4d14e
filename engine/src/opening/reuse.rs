//! The open with `reuse_manifest_on_open`: continues the old MANIFEST if this is safe.

use super::context::Opening;
use super::setup::manifest_settings;
use crate::manifest::{Manifest, ManifestEnd, Recovered};

impl Opening {
    /// Returns the MANIFEST that was read, open at its end. Returns `None` if the MANIFEST must not be
    /// reused: a new MANIFEST only costs time. A reused MANIFEST must end where reading ended, must name
    /// the epoch number of each SST file, must have been read as a whole, and must be proved durable. The
    /// proof is necessary because a sync may have failed, and a second sync of bytes that the system shows
    /// from memory does nothing.
    pub(super) fn reuse_manifest(&self, recovered: &Recovered) -> Option<Manifest> {
        let o = &self.options;
        let sure = matches!(recovered.end, ManifestEnd::Proved);
        if !o.reuse_manifest_on_open || o.best_efforts_recovery || !sure {
            return None;
        }
        let files = || recovered.families.values().flat_map(|family| family.files.values());
        if files().any(|file| file.epoch_number == 0) {
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
