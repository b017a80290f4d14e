//! Flushes of an open: the memtables of a replay become SST files.

use base::{Level, Result, WalNumber};

use crate::family::Family;
use crate::output::{JobTools, OutputFile, Purpose, track_file, write_memtables};
use crate::source::{TableCache, covered_bytes};
use crate::sync::Arc;

/// Writes the memtable of a column family to SST files, and puts an empty memtable in its place. No version has
/// these files yet.
pub fn flush_family(
    tools: &JobTools,
    tables: &TableCache,
    job: base::ids::JobId,
    family: &Arc<Family>,
) -> Result<Vec<OutputFile>> {
    let mut state = family.state();
    if state.mem.is_empty() {
        return Ok(Vec::new());
    }
    let fresh = family.parts().new_memtable(state.mem_id + 1, state.mem.largest_seq());
    state.mem.make_immutable();
    state.switch(fresh, WalNumber::ZERO, None, None);
    let pick = state.pick_flush(None);
    let old = family.install(&mut state);
    drop(state);
    drop(old);
    let (version, parts) = (family.pin().version.clone(), family.parts());
    let covered = |from: &[u8], to: &[u8]| covered_bytes(tables, &parts, &version, Level::ZERO, (from, to));
    let written = write_memtables(tools, job, family, &pick, Purpose::Open, &covered, None)?;
    base::invariant!(
        pick.memtables.len() == 1,
        "recovery flushes {} memtables of {family:?} at once",
        pick.memtables.len()
    );
    let mut state = family.state();
    state.remove_flushed(&pick);
    if let Some(mark) = pick.history_mark(&family.parts()) {
        state.raise_history_mark(mark, family.order());
    }
    let old = family.install(&mut state);
    drop(state);
    drop(old);
    for file in &written.files {
        track_file(tools, file);
    }
    Ok(written.files)
}
