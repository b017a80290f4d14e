//! Looks for empty key ranges after many deletions, so that no caller has to scan a long run of deleted keys first.
//!
//! ```text
//!  a writer, a flush or a compaction ──► place (a deleted key) ──► this job: scan from the place, in both directions
//!                                        ──► empty range ──► iterators skip the range
//! ```
//! The scan of a place without a run of deleted keys ends after a few entries. The scan of a run continues where the scan of an
//! earlier place ended, so each deleted key is read once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::context::JobContext;
use crate::errors::panicked;
use crate::family::Family;
use crate::iter::{IteratorContext, IteratorTools, Refreshes, find_empty_range};
use crate::sync::{Arc, Ordering};

/// No job looks for empty ranges in a column family with more bytes in SST files for each entry. The scan of a run reads all blocks
/// of the run, and the job must not read much more than the writers wrote.
const BYTES_PER_ENTRY_MAX: u64 = 512;

/// Searches for empty key ranges at the places of all column families. A failure ends the search at its place, and has
/// no other effect.
pub(super) fn look(context: &JobContext) {
    let tools = IteratorTools::new(&context.tables, &context.tools, Refreshes::Allowed);
    for family in context.families.all() {
        let places = family.deleted_places().take();
        if places.is_empty() || family.is_dropped() || has_large_entries(&family) {
            continue;
        }
        let parts = IteratorContext::new(&family, &tools);
        for place in places {
            if context.tools.shutting_down.load(Ordering::Acquire) {
                return;
            }
            // The comparator of the application may panic.
            let look = || find_empty_range(&parts, &place, context.tools.shutting_down.clone());
            let outcome = catch_unwind(AssertUnwindSafe(look))
                .unwrap_or_else(|panic| Err(panicked("a look for empty key ranges", &*panic)));
            if let Err(error) = outcome {
                context
                    .tools
                    .events
                    .warn(format_args!("[{}] A look for empty key ranges failed: {error}", family.name()));
            }
        }
    }
}

/// Returns true if the entries in the SST files have more than [`BYTES_PER_ENTRY_MAX`] bytes on average.
fn has_large_entries(family: &Arc<Family>) -> bool {
    let pin = family.pin_owned();
    let (mut bytes, mut entries) = (0u64, 0u64);
    for (_, file) in pin.version.files() {
        if let Some(stats) = file.stats() {
            bytes = bytes.saturating_add(file.size);
            entries = entries.saturating_add(stats.num_entries);
        }
    }
    bytes / BYTES_PER_ENTRY_MAX > entries
}
