//! The blob files that memtables of a flush refer to (`enable_blob_direct_write`).
//!
//! ```text
//!  seal ─► SST files refer to the values ─► count references ─► edit: file added, its other values are garbage ─► committed
//! ```
//! A value is garbage from the start if no SST file of the flush refers to it: a newer entry of the memtable hides its entry, or its
//! write failed. A file without a reference is not added. The values of a failed file move to new blob files. Source: RocksDB
//! `BlobFilePartitionManager::PrepareFlushAdditions`.

use std::collections::BTreeSet;

use base::{FileNumber, Result};
use lsm::blob_flow::BlobFlow;
use lsm::version::{BlobFile, BlobGarbage, Edit};

use super::tools::FlushTools;
use crate::family::{Family, FlushPick};
use crate::options::ReadOptions;
use crate::output::{BlobCollection, MemtableBlobs};
use crate::source::BlobContext;
use crate::source::read_ahead::{BlobReadCounts, BlobsAhead};
use crate::sync::Arc;
use crate::wal::fail_references;

/// The files of one column family.
#[derive(Default)]
pub(super) struct Direct {
    sealed: Vec<BlobFile>,
    /// The garbage of the sealed files that SST files refer to.
    garbage: Vec<BlobGarbage>,
}

impl Direct {
    /// Seals the files of the memtables. Also returns the reads of these files for the flush; `None` without a file.
    ///
    /// # Errors
    /// Errors of the file system. They poison the WALs: the file may lack values that WAL records refer to.
    pub fn sealed(
        t: &FlushTools<'_>,
        family: &Family,
        pick: &FlushPick,
    ) -> Result<(Direct, Option<MemtableBlobs>)> {
        let sealed = t.tools.direct.seal_for_flush(family.id(), &ids(pick));
        let (sealed, failed) = sealed.map_err(|error| fail_references(t.wals, error))?;
        if sealed.is_empty() && failed.is_empty() {
            return Ok((Direct::default(), None));
        }
        let reads = || {
            let super_version = family.pin();
            let context = BlobContext {
                tables: t.tables.clone(),
                version: super_version.version.clone(),
                parts: super_version.parts.clone(),
                family: family.id(),
                options: ReadOptions { fill_cache: false, ..ReadOptions::default() },
            };
            Box::new(BlobsAhead::new(context, 0, Arc::new(BlobReadCounts::default())))
        };
        let collection =
            (!failed.is_empty()).then(|| BlobCollection { cutoff: FileNumber::ZERO, failed, blobs: reads() });
        Ok((Direct { sealed, garbage: Vec::new() }, Some(MemtableBlobs { blobs: reads(), collection })))
    }

    /// Drops the files that the SST files do not refer to, and computes the garbage of the rest.
    pub fn count_references(&mut self, flow: &BlobFlow) {
        self.sealed.retain(|file| flow.of(file.number).0 > 0);
        let garbage = self.sealed.iter().filter_map(|file| {
            let (count, bytes) = flow.of(file.number);
            base::invariant!(
                count <= file.total_count && bytes <= file.total_bytes,
                "{count} entries refer to {} values of blob file {}",
                file.total_count,
                file.number
            );
            (count < file.total_count).then(|| BlobGarbage {
                number: file.number,
                count: file.total_count - count,
                bytes: file.total_bytes.saturating_sub(bytes),
            })
        });
        self.garbage = garbage.collect();
    }

    /// Adds the files and their garbage to the edit of the flush.
    pub fn add_to(&self, edit: &mut Edit) {
        edit.blobs_added.extend(self.sealed.iter().cloned());
        edit.blob_garbage.extend(self.garbage.iter().copied());
    }

    /// Ends the use of the files by the memtables, after the commit. The files that the version did not get are obsolete.
    pub fn committed(&self, t: &FlushTools<'_>, family: &Family, pick: &FlushPick) {
        let added: BTreeSet<_> = self.sealed.iter().map(|file| file.number).collect();
        let unneeded = t.tools.direct.committed(family.id(), &ids(pick), &added);
        let parts = family.parts();
        if let Some(manager) = &t.tools.options.load().sst_file_manager {
            self.sealed
                .iter()
                .for_each(|file| manager.on_add(&parts.blob_path(file.number), file.file_size()));
        }
        t.obsolete.retire(unneeded.iter().map(|file| parts.retired_blob(file)));
    }
}

fn ids(pick: &FlushPick) -> Vec<u64> {
    pick.memtables.iter().map(|immutable| immutable.mem.id()).collect()
}
