//! Chooses the level and the sequence number of each ingested file.
//!
//! ```text
//!  level 0 ─► … ─► last level: stop at the first level with entries in the file's range, or that a running compaction
//!                              writes in the range ─► the file needs a new sequence number
//!  level   the deepest level above the stop on which no SST file meets the range
//!  files that overlap: batches; each batch lies above the batch before, and has newer sequence numbers
//! ```

use base::key::{self, MAX_SEQUENCE};
use base::{EpochNumber, Error, Level, Result, SequenceNumber};
use lsm::pick::score::Scores;
use lsm::pick::{Style, View};
use lsm::version::KeyRange;
use table::sst::ReadCtx;

use super::overlap::{UserRange, overlaps_level};
use super::prepare::is_before;
use super::{ExternalFile, Prepared};
use crate::family::Parts;
use crate::source::TableCache;

/// The level and the global sequence number of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    pub level: Level,
    /// The global sequence number. 0: the entries keep their own sequence numbers.
    pub seq: SequenceNumber,
}

/// The input of the placement.
pub struct PlacementRequest<'a> {
    pub prepared: &'a Prepared,
    pub view: View<'a>,
    pub parts: &'a Parts,
    pub tables: &'a TableCache,
    /// The last allocated sequence number.
    pub last_seq: SequenceNumber,
    /// True if snapshots must not see the files, so each file gets a new sequence number.
    pub force_seq: bool,
    pub now_s: u64,
}

/// Chooses the place of each file. Returns the places, in the order of the files, and the last sequence number after the
/// ingestion.
///
/// # Errors
/// InvalidArgument if a file needs a global sequence number that the options forbid, or does not fit into the last level
/// after the existing data; TryAgain with `fail_if_not_bottommost_level`; errors of reading SST files.
pub fn place(request: &PlacementRequest<'_>) -> Result<(Vec<Placement>, SequenceNumber)> {
    let options = &request.prepared.options;
    let (mut places, mut last_seq) = (Vec::new(), request.last_seq);
    let mut above = None;
    for batch in batches(request.prepared) {
        let mut uppermost = request.view.version.last_level();
        for file in batch {
            let place = match options.ingest_behind {
                true => place_in_last_level(request, file),
                false => place_one(request, file, last_seq, above),
            };
            let place = place.map_err(|e| e.doing("ingesting an external file").file(&file.path))?;
            base::invariant!(
                place.seq.is_zero() || place.seq == last_seq + 1,
                "a file gets the sequence number {} after {last_seq}",
                place.seq
            );
            base::invariant!(
                above.is_none_or(|above| place.level < above || place.level == Level::ZERO),
                "a newer file is placed on {}, and an older file on {above:?}",
                place.level
            );
            check_seq(request.prepared, file, place.seq)?;
            last_seq = last_seq.max(place.seq).max(if options.allow_db_generated_files {
                file.largest_seq
            } else {
                SequenceNumber::ZERO
            });
            uppermost = uppermost.min(place.level);
            places.push(place);
        }
        above = Some(uppermost);
    }
    base::invariant!(
        places.len() == request.prepared.files.len(),
        "{} of {} files have a level",
        places.len(),
        request.prepared.files.len()
    );
    if last_seq > MAX_SEQUENCE {
        return Err(Error::invalid_argument("the database has no more sequence numbers"));
    }
    Ok((places, last_seq))
}

/// Cuts the files into batches of files that do not overlap, in the order of the files.
fn batches(prepared: &Prepared) -> Vec<Vec<&ExternalFile>> {
    let mut batches: Vec<Vec<&ExternalFile>> = vec![Vec::new()];
    for file in prepared.files.iter().map(|file| &file.external) {
        let family = &prepared.family;
        let meets =
            |other: &&ExternalFile| !is_before(family, other, file) && !is_before(family, file, other);
        match batches.last_mut() {
            Some(batch) if !prepared.overlapping || !batch.iter().any(meets) => batch.push(file),
            _ => batches.push(vec![file]),
        }
    }
    base::invariant!(
        batches.iter().map(Vec::len).sum::<usize>() == prepared.files.len(),
        "the batches of an ingestion do not have {} files",
        prepared.files.len()
    );
    batches
}

fn check_seq(prepared: &Prepared, file: &ExternalFile, seq: SequenceNumber) -> Result<()> {
    let options = &prepared.options;
    let error = if options.allow_db_generated_files && !seq.is_zero() {
        "An ingested file overlaps with existing data in the DB and has been assigned a non-zero sequence number, which \
         is not allowed when 'allow_db_generated_files' is enabled."
    } else if file.stored_seq != seq && !options.allow_global_seqno {
        "Global seqno is required, but disabled"
    } else {
        return Ok(());
    };
    Err(Error::invalid_argument(error).doing("ingesting an external file").file(&file.path))
}

/// Places a file below all existing entries: in the last level.
fn place_in_last_level(request: &PlacementRequest<'_>, file: &ExternalFile) -> Result<Placement> {
    let version = request.view.version;
    let last = version.last_level();
    let range = UserRange::of(version.order(), file);
    let fits = if last == Level::ZERO { fits_behind(request, &range) } else { fits(request, &range, last) };
    if !fits {
        return Err(Error::invalid_argument("Can't ingest_behind file as it doesn't fit at the last level!"));
    }
    if version.files().any(|(level, file)| level < last && file.smallest_seq.is_zero()) {
        return Err(Error::invalid_argument(
            "Can't ingest_behind file as despite cf_allow_ingest_behind=true there are files with 0 seqno in database at \
             upper levels!",
        ));
    }
    Ok(Placement { level: last, seq: SequenceNumber::ZERO })
}

fn place_one(
    request: &PlacementRequest<'_>,
    file: &ExternalFile,
    last_seq: SequenceNumber,
    above: Option<Level>,
) -> Result<Placement> {
    let (prepared, view) = (request.prepared, &request.view);
    let options = &prepared.options;
    let last = view.version.last_level();
    let not_bottommost = || {
        Error::try_again(
            "Files cannot be ingested to Lmax. Please make sure key range of Lmax and ongoing compaction's output to Lmax \
             does not overlap with files to ingest. Input files overlapping with each other can cause some file to be \
             assigned to non Lmax level.",
        )
    };
    let must_be_l0 = above == Some(Level::ZERO) || request.parts.pick.style == Style::Fifo;
    let keeps_seq = options.allow_db_generated_files;
    let mut seq = SequenceNumber::ZERO;
    if request.force_seq || !keeps_seq && (prepared.overlapping || must_be_l0) {
        seq = last_seq + 1;
        if must_be_l0 {
            let refused = options.fail_if_not_bottommost_level && last > Level::ZERO;
            return if refused { Err(not_bottommost()) } else { Ok(Placement { level: Level::ZERO, seq }) };
        }
    }
    let end = if must_be_l0 { Level::ZERO } else { above.unwrap_or(last.below()) };
    let (level, overlaps) = deepest_level(request, file, end)?;
    base::invariant!(level <= last, "a file is placed on {level}, and the last level is {last}");
    if options.fail_if_not_bottommost_level && level < last {
        return Err(not_bottommost());
    }
    if overlaps && view.version.order().user.timestamp_size() > 0 {
        return Err(Error::invalid_argument(
            "Column family enables user-defined timestamps, please make sure the key range (without timestamp) of \
             external file does not overlap with key range (without timestamp) in the db",
        ));
    }
    Ok(Placement { level, seq: if overlaps && seq.is_zero() { last_seq + 1 } else { seq } })
}

/// Returns the deepest possible level for a file above level `end`. Also returns true if the database has entries in
/// the key range of the file.
fn deepest_level(request: &PlacementRequest<'_>, file: &ExternalFile, end: Level) -> Result<(Level, bool)> {
    let (prepared, view) = (request.prepared, &request.view);
    let version = view.version;
    base::invariant!(
        end.index() <= version.num_levels(),
        "a file is to be placed above {end} of {} levels",
        version.num_levels()
    );
    let range = UserRange::of(version.order(), file);
    let ctx =
        ReadCtx { fill_cache: prepared.options.fill_cache, total_order_seek: true, ..ReadCtx::default() };
    let base_level = match request.parts.pick.style {
        Style::Level => Scores::compute(view, &request.parts.pick, request.now_s).base_level,
        _ => Level::ZERO,
    };
    let checked = if prepared.options.allow_db_generated_files { version.num_levels() } else { end.index() };
    let mut target = Level::ZERO;
    for level in Level::first(checked).filter(|level| *level == Level::ZERO || *level >= base_level) {
        if level < end && prepared.replace.is_some() {
            target = level;
            continue;
        }
        if is_compacted_to(request, &range, level)
            || overlaps_level((version, level), (request.tables, request.parts), &range, &ctx)?
        {
            return Ok((target, true));
        }
        if level < end && (level == Level::ZERO || fits(request, &range, level)) {
            target = level;
        }
    }
    Ok((target, false))
}

/// Returns true if a running compaction writes the range on the level.
fn is_compacted_to(request: &PlacementRequest<'_>, range: &UserRange, level: Level) -> bool {
    let order = request.view.version.order();
    let size = order.user.timestamp_size();
    let bounds =
        (key::with_newest_timestamp(&range.start, size), key::with_oldest_timestamp(&range.limit, size));
    let own = KeyRange { bounds: Some(bounds) };
    request.view.running.iter().any(|running| running.writes(order, &own, level))
}

/// Returns true if a file with this range can be the oldest file of level 0, the only level. The file gets the first epoch number,
/// so the files with this epoch number must not overlap. RocksDB returns Corruption if they overlap.
fn fits_behind(request: &PlacementRequest<'_>, range: &UserRange) -> bool {
    let version = request.view.version;
    let order = &version.order().user;
    let mut oldest = version.level(Level::ZERO).iter().filter(|file| file.epoch_number <= EpochNumber::FIRST);
    !oldest.any(|file| {
        order.compare(file.largest_user_key(), &range.start).is_ge()
            && order.compare(file.smallest_user_key(), &range.limit).is_le()
    })
}

/// Returns true if no SST file of the level meets the range.
fn fits(request: &PlacementRequest<'_>, range: &UserRange, level: Level) -> bool {
    base::invariant!(
        level <= request.view.version.last_level(),
        "a file is compared with {level} of {} levels",
        request.view.version.num_levels()
    );
    let size = request.view.version.order().user.timestamp_size();
    let start = key::with_newest_timestamp(&range.start, size);
    let limit = key::with_oldest_timestamp(&range.limit, size);
    !request.view.version.overlaps(level, Some(&start), Some(&limit))
}
