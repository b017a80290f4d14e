//! Opens for readers that follow a writer: secondary instances and followers.

use base::Result;

use super::Db;
use super::open::{assemble, open};
use crate::opening::{Before, OpenRequest, Opened, Opening, Overrides, tenant};
use crate::read::Reads;
use crate::sync::{Arc, Ordering};

/// Opens a database for a reader that follows a writer: the open is read-only, as [`Db::open_read_only`]. `before` is
/// an older open of the same database; the new open shares its open SST files and blob files, and its pauses. If the writer
/// dropped a column family of the request since then, the new open has this column family as it was in `before`. With
/// `skip_wals`, the open reads no WAL.
///
/// # Errors
/// The errors of [`Db::open_read_only`].
pub fn open_to_follow(request: OpenRequest, before: Option<&Db>, skip_wals: bool) -> Result<Db> {
    let overrides = Overrides { skip_wals, ..Overrides::default() };
    let tail = before.and_then(|before| before.inner.reading.tails.manifest.clone()).unwrap_or_default();
    let shared = before.map(|before| Before {
        tables: before.inner.tables.clone(),
        families: before.inner.families.all(),
        db_id: before.id().to_string(),
    });
    let mut next = open(Opening::new(request, true, overrides)?.after(shared).following(tail))?;
    share_pauses(before, &mut next);
    Ok(next)
}

/// Returns true if the writer of the database wrote nothing since this read-only open. False if this is unknown.
///
/// # Errors
/// Errors of the file system.
pub fn is_up_to_date(db: &Db) -> Result<bool> {
    let tools = &db.inner.tools;
    db.inner.reading.up_to.as_ref().map_or(Ok(false), |read| read.is_everything(&tools.env, &tools.paths))
}

/// Returns true if this read-only open shows an older state than the newest state, because an SST file is missing or damaged.
pub fn shows_older_state(db: &Db) -> bool {
    db.inner.reading.up_to.as_ref().is_some_and(crate::opening::ReadUpTo::is_older)
}

/// Reads what the writer appended to the WALs since this view, and returns the next view. The next view has the memtables,
/// the column families and the open files of this view, and a newer sequence number. Cost: the new records. Returns `None` if
/// the MANIFEST changed, or if the WALs must be replayed from the start: see [`Tail`](crate::recovery::Tail). Only the first
/// call for a view can return a view.
///
/// # Errors
/// Errors of the file system.
pub fn catch_up(db: &Db) -> Result<Option<Db>> {
    let inner = &*db.inner;
    let tools = &inner.tools;
    let Some(read) = &inner.reading.up_to else { return Ok(None) };
    let Some(mut tail) = inner.reading.tails.wal.lock().take() else { return Ok(None) };
    // After a change of the MANIFEST, entries of the WALs may be in SST files too.
    if !read.is_manifest_unchanged(&tools.env, &tools.paths)? {
        return Ok(None);
    }
    let Some(last_seq) = tail.advance(tools, &inner.families, tools.sequence.visible())? else {
        return Ok(None);
    };
    if !read.is_manifest_unchanged(&tools.env, &tools.paths)? {
        return Ok(None);
    }
    let read_up_to = Some(read.with_wals(tail.extents()));
    let tools = Arc::new(tools.at_sequence(last_seq));
    let reads = Reads { sequence: tools.sequence.clone(), ..inner.reads.clone() };
    inner.shares_tables.store(true, Ordering::Relaxed);
    let tenant = tenant(&tools.env);
    let mut next = assemble(Opened {
        tools,
        families: inner.families.clone(),
        wals: inner.wals.clone(),
        committer: inner.committer.clone(),
        tables: inner.tables.clone(),
        obsolete: inner.obsolete.clone(),
        errors: inner.errors.clone(),
        release_notifier: inner.release_notifier.clone(),
        reads,
        writing: None,
        caches: inner.caches.clone(),
        lock: None,
        missing: Vec::new(),
        read_up_to,
        tail: Some(tail),
        manifest_tail: inner.reading.tails.manifest.clone(),
        tenant,
    });
    share_pauses(Some(db), &mut next);
    next.inner.shares_tables.store(true, Ordering::Relaxed);
    Ok(Some(next))
}

/// Gives the new view the pauses of the view before. No other handle of the new view may exist.
fn share_pauses(before: Option<&Db>, next: &mut Db) {
    let Some(before) = before else { return };
    let next = Arc::get_mut(&mut next.inner);
    base::invariant!(next.is_some(), "a view is used before it has the pauses of the view before");
    if let Some(next) = next {
        next.reading.share_pauses(&before.inner.reading);
    }
}
