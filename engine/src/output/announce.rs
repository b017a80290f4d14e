//! Reports each SST file of a run: its start and its end go to the listeners, its end goes to the info log. RocksDB:
//! `EventHelpers`.
//!
//! Every start has one end, also after an error. A flush that keeps no entry reports one file that is not kept.

use std::path::{Path, PathBuf};

use base::{Error, FileNumber, SequenceNumber};

use super::{OutputFile, OutputSettings, Purpose};
use crate::event::{Event, Named, TableCreated};
use crate::options::Temperature;

/// The path of a file that is not kept, in events. The text is RocksDB's.
const NOT_KEPT: &str = "(nil)";

/// Reports that a new SST file is created.
pub(super) fn begun(s: &OutputSettings, number: FileNumber, path: &Path) {
    if let Some((events, job)) = s.events.as_ref().filter(|(events, _)| events.has_listeners()) {
        events.emit(&Event::TableCreationStarted {
            job: *job,
            family: family(s),
            number,
            path: path.to_path_buf(),
            purpose: s.purpose,
        });
    }
}

/// Reports an SST file that is finished.
pub(super) fn finished(s: &OutputSettings, file: &OutputFile) {
    let Some((events, job)) = &s.events else { return };
    let meta = &file.meta;
    base::invariant!(
        meta.size > 0 && meta.smallest_seq <= meta.largest_seq,
        "SST file {} of {} bytes has the sequence numbers {} to {}",
        meta.number,
        meta.size,
        meta.smallest_seq,
        meta.largest_seq
    );
    if s.purpose == Purpose::Compaction {
        events.info(format_args!(
            "[{}] [JOB {job}] Generated table #{}: {} keys, {} bytes, temperature: {}",
            s.place.family_name,
            meta.number,
            file.properties.num_entries,
            meta.size,
            Temperature::from_number(meta.temperature).unwrap_or_default().name()
        ));
    }
    events.emit(&Event::TableCreated(TableCreated {
        job: *job,
        family: family(s),
        path: file.path.clone(),
        number: meta.number,
        purpose: s.purpose,
        file_size: meta.size,
        file_checksum: meta.checksum.value.clone(),
        file_checksum_func_name: meta.checksum.function.clone(),
        smallest_seqno: meta.smallest_seq,
        largest_seqno: meta.largest_seq,
        oldest_blob_file: meta.oldest_blob_file,
        properties: Some(file.properties.clone()),
        error: None,
    }));
}

/// Reports an SST file whose writing failed. A flush names no path, as RocksDB's `BuildTable`.
pub(super) fn failed(s: &OutputSettings, number: FileNumber, path: &Path, error: &Error) {
    let Some((events, job)) = &s.events else { return };
    events.emit(&Event::TableCreated(TableCreated {
        job: *job,
        family: family(s),
        path: if s.is_flush { PathBuf::from(NOT_KEPT) } else { path.to_path_buf() },
        number,
        purpose: s.purpose,
        file_size: 0,
        file_checksum: Vec::new(),
        file_checksum_func_name: String::new(),
        smallest_seqno: SequenceNumber::ZERO,
        largest_seqno: SequenceNumber::ZERO,
        oldest_blob_file: None,
        properties: None,
        error: Some(error.clone()),
    }));
}

/// Reports the start and the end of a file that a run without entries does not make, or of a run that fails before it
/// makes a file. Takes a file number, as RocksDB does.
pub(super) fn no_file(s: &OutputSettings, error: Option<&Error>) {
    if s.events.is_none() {
        return;
    }
    let pending = s.numbers.take_pending();
    begun(s, pending.number, &s.parts.table_path(pending.number, s.place.path_id));
    let empty = Error::aborted("Empty SST file not kept");
    failed(s, pending.number, Path::new(NOT_KEPT), error.unwrap_or(&empty));
}

fn family(s: &OutputSettings) -> Named {
    Named { id: s.place.family, name: s.place.family_name.clone() }
}
