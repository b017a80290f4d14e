//! The MANIFEST: every version edit, in order. The file CURRENT names the MANIFEST.
//!
//! ```text
//!  append(edits) ─► frame ─► file ─► sync                  durable before the caller uses the edits
//!       │ too large, or the last append failed
//!       └──► MANIFEST-n+1: snapshot, then the edits ─► sync ─► CURRENT by rename ─► sync directory
//! ```
//! Every append ends with a sync. After the sync, the writer appends a seal: an edit that holds only a mark, which
//! states how many bytes are durable. The seal is not synced, so a power failure can remove it. The edits of the next
//! append have the same mark. The `PROOF` file proves the last edits before a close or an idle time.
//!
//! After a failed append, an unknown part of the record is in the file. Nothing is appended to this file again. The
//! next append starts a new file with a snapshot of the installed versions. CURRENT names the new file only after the
//! file is durable. The caller keeps the files of a failed edit, because the edit may be in the MANIFEST.

mod best;
mod builder;
mod current;
mod lenient;
mod proof;
mod recover;
mod recovered;
mod tail;

pub use best::{Present, recover_best};
pub use current::{read_current, write_current, write_identity};
pub use lenient::{Lenient, recover_leniently};
pub use proof::{read_proof, write_proof};
pub use recover::{FileSource, recover, recover_file, recover_proved};
pub use recovered::{FamilyRecord, Lost, ManifestEnd, Recovered};
pub use tail::{ManifestTail, SharedTail, recover_following};

use std::path::PathBuf;

use base::stats::HistogramKind;
use base::{FileNumber, Result};
use env::{Append, AppendHints, Env};
use format::edit::{EditMark, VersionEdit};
use format::names;
use format::proof::Extent;
use format::wal::{Framing, Writer};

use crate::stats::Stats;
use crate::sync::Arc;

/// Settings of the writer of the MANIFEST.
#[derive(Clone, Debug)]
pub struct ManifestSettings {
    pub dir: PathBuf,
    pub preallocate_bytes: u64,
    /// `max_manifest_file_size` in bytes. A smaller MANIFEST is never rolled because of its size.
    pub max_file_size: u64,
    /// `max_manifest_space_amp_pct`. A MANIFEST is rolled if it exceeds the size of its snapshot by this percentage,
    /// and `max_file_size`.
    pub max_space_amp_pct: u64,
    pub use_fsync: bool,
}

/// An edit, and the timestamp size of its column family. Boundaries of SST files may be stored without timestamps.
pub type Record = (VersionEdit, usize);

/// The open MANIFEST. One writer at a time.
pub struct Manifest {
    env: Env,
    settings: ManifestSettings,
    number: FileNumber,
    /// `None` after a failure, and before the first append.
    file: Option<(Box<dyn Append>, Writer)>,
    /// The durable part of the file.
    synced: Extent,
    compacted_size: u64,
    buffer: Vec<u8>,
    /// True after a close. Another process may own CURRENT now, so nothing is written any more.
    closed: bool,
    stats: Option<Arc<Stats>>,
}

impl Manifest {
    /// Creates the writer without writing anything. The first append starts a new file.
    pub fn new(env: Env, settings: ManifestSettings, current: FileNumber) -> Self {
        Manifest {
            env,
            settings,
            number: current,
            file: None,
            synced: Extent::default(),
            compacted_size: 0,
            buffer: Vec::new(),
            closed: false,
            stats: None,
        }
    }

    /// Continues at the end of the current file (`reuse_manifest_on_open`), with the content that was
    /// `read`. The file is synced first, because the mark of the next edit states that the whole file is
    /// durable.
    ///
    /// # Errors
    /// Errors of the file system. Corruption if the file does not have the size that was read.
    pub fn reopen(env: Env, settings: ManifestSettings, read: &Recovered) -> Result<Self> {
        let Recovered { number: current, size, digest, compacted_size, .. } = *read;
        let path = settings.dir.join(names::manifest(current));
        let mut file = env.fs.reopen(&path, &AppendHints::default())?;
        if file.size() != size {
            let found = file.size();
            return Err(base::Error::corruption(format!("{found} bytes where {size} were read")).file(path));
        }
        sync(&mut *file, settings.use_fsync, None)?;
        let writer = Writer::resume_behind(Framing::Classic, size, digest);
        base::invariant!(
            writer.offset() == size,
            "the MANIFEST is continued at {}, and {size} bytes of it were read",
            writer.offset()
        );
        let compacted_size = if compacted_size == 0 { size } else { compacted_size };
        let synced = extent(current, &writer);
        Ok(Manifest {
            file: Some((file, writer)),
            synced,
            compacted_size,
            ..Manifest::new(env, settings, current)
        })
    }

    /// Counts the syncs in `stats` from now on.
    pub fn with_stats(mut self, stats: Arc<Stats>) -> Self {
        self.stats = Some(stats);
        self
    }

    /// Changes the size limits, and the preallocation of the next file.
    pub fn set_settings(&mut self, settings: ManifestSettings) {
        self.settings = settings;
    }

    /// Returns the number of the file that CURRENT names.
    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Returns the size of the file in bytes, or 0 if the MANIFEST has no open file.
    pub fn size(&self) -> u64 {
        self.file.as_ref().map_or(0, |(_, writer)| writer.offset())
    }

    /// Returns the part of the file that is known to be durable.
    pub fn durable(&self) -> Extent {
        self.synced
    }

    /// Syncs the last seal, and returns the durable part of the file. Returns `None` after a failure, and before the
    /// first append.
    ///
    /// # Errors
    /// Errors of the file system; the next append must roll.
    pub fn settle(&mut self) -> Result<Option<Extent>> {
        let Some((file, writer)) = &mut self.file else { return Ok(None) };
        base::invariant!(
            self.synced.bytes <= writer.offset(),
            "{} bytes of the MANIFEST are durable, and {} bytes are written",
            self.synced.bytes,
            writer.offset()
        );
        if writer.offset() > self.synced.bytes {
            if let Err(error) = sync(&mut **file, self.settings.use_fsync, self.stats.as_deref()) {
                self.file = None;
                return Err(error.doing("syncing the MANIFEST"));
            }
            self.synced = extent(self.number, writer);
        }
        Ok(Some(self.synced))
    }

    /// Returns true if the next append must start a new file: see [`Manifest::roll`].
    pub fn must_roll(&self) -> bool {
        match &self.file {
            None => true,
            Some((_, writer)) => {
                let amplified =
                    self.compacted_size.saturating_mul(100 + self.settings.max_space_amp_pct) / 100;
                writer.offset() >= self.settings.max_file_size.max(amplified)
            }
        }
    }

    /// Appends records to the current file and syncs. The caller checks [`Manifest::must_roll`] before.
    ///
    /// # Errors
    /// Errors of the file system, with the path of the file; the next append must roll.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        let path = self.settings.dir.join(names::manifest(self.number));
        let Some((mut file, mut writer)) = self.file.take() else {
            return Err(base::Error::io_error("the MANIFEST has failed before").file(path));
        };
        base::invariant!(!self.closed, "an edit is appended to a closed MANIFEST");
        base::invariant!(
            self.synced.number == self.number && self.synced.bytes <= writer.offset(),
            "{} bytes of MANIFEST {} are durable, and {} bytes of MANIFEST {} are written",
            self.synced.bytes,
            self.synced.number,
            writer.offset(),
            self.number
        );
        self.buffer.clear();
        let (use_fsync, stats) = (self.settings.use_fsync, &self.stats);
        let mark = mark(&self.synced);
        frame(&mut writer, records, mark, &mut self.buffer)
            .and_then(|()| file.append(&self.buffer))
            .and_then(|()| sync(&mut *file, use_fsync, stats.as_deref()))
            .map_err(|e| e.doing("appending to the MANIFEST").file(&path))?;
        self.seal(file, writer);
        Ok(())
    }

    /// Starts file `number` with `snapshot` and then `records`, and makes CURRENT name the new file. After the call
    /// the old file is obsolete.
    ///
    /// # Errors
    /// Errors of the file system. CURRENT still names the old file then, and the next append must roll.
    pub fn roll(&mut self, number: FileNumber, snapshot: &[Record], records: &[Record]) -> Result<()> {
        if self.closed {
            return Err(base::Error::shutdown_in_progress("the MANIFEST is closed"));
        }
        base::invariant!(self.number < number, "MANIFEST {} follows MANIFEST {}", number, self.number);
        self.file = None;
        let path = self.settings.dir.join(names::manifest(number));
        let hints =
            AppendHints { preallocate_bytes: self.settings.preallocate_bytes, ..AppendHints::default() };
        let mut file = self.env.fs.create(&path, &hints)?;
        let mut writer = Writer::new(Framing::Classic);
        self.buffer.clear();
        let written = self.write_snapshot(number, (&mut *file, &mut writer), snapshot, records);
        if let Err(error) = written {
            drop(file);
            // CURRENT never named this file. If the file cannot be deleted now, the next sweep deletes it.
            let _ = self.env.fs.unlink(&path);
            return Err(error.doing("writing a new MANIFEST").file(&path));
        }
        write_current(&self.env, &self.settings.dir, number)?;
        self.number = number;
        self.seal(file, writer);
        Ok(())
    }

    /// Records that all edits up to now are durable, and appends a seal with this durable size. If the append of the seal
    /// fails, an unknown part of the seal is in the file, and the next append starts a new file.
    fn seal(&mut self, mut file: Box<dyn Append>, mut writer: Writer) {
        let before = std::mem::replace(&mut self.synced, extent(self.number, &writer));
        base::invariant!(
            before.number != self.synced.number || before.bytes <= self.synced.bytes,
            "the durable size of the MANIFEST falls from {} to {}",
            before.bytes,
            self.synced.bytes
        );
        let Some(mark) = mark(&self.synced) else {
            self.file = Some((file, writer));
            return;
        };
        self.buffer.clear();
        let seal = [(VersionEdit::seal(mark), 0)];
        let sealed = frame(&mut writer, &seal, None, &mut self.buffer)
            .and_then(|()| file.append(&self.buffer))
            .and_then(|()| file.flush());
        self.file = sealed.is_ok().then_some((file, writer));
    }

    fn write_snapshot(
        &mut self,
        number: FileNumber,
        (file, writer): (&mut dyn Append, &mut Writer),
        snapshot: &[Record],
        records: &[Record],
    ) -> Result<()> {
        frame(writer, snapshot, None, &mut self.buffer)?;
        /// Bytes of the record that holds the size of the snapshot: header, tag, length and number.
        const SIZE_RECORD_LEN: u64 = 15;
        self.compacted_size = writer.offset() + SIZE_RECORD_LEN;
        base::invariant!(
            records.iter().all(|(edit, _)| !edit.is_seal()),
            "a caller passes a seal to the MANIFEST"
        );
        let size = VersionEdit {
            last_compacted_manifest_file_size: Some(self.compacted_size),
            ..VersionEdit::default()
        };
        frame(writer, &[(size, 0)], None, &mut self.buffer)?;
        // CURRENT names this file only after the file is durable. So if the file is read at all, these
        // bytes are durable. The mark also states that the following edits have marks.
        let mark = mark(&extent(number, writer));
        let nothing = [(VersionEdit::default(), 0)];
        frame(writer, if records.is_empty() { &nothing } else { records }, mark, &mut self.buffer)?;
        file.append(&self.buffer)?;
        sync(file, self.settings.use_fsync, self.stats.as_deref())
    }

    /// Releases preallocated space and closes the file. Syncs nothing. Later appends fail.
    pub fn close(&mut self) -> Result<()> {
        self.closed = true;
        match self.file.take() {
            Some((mut file, _)) => file.close(),
            None => Ok(()),
        }
    }
}

fn sync(file: &mut dyn Append, use_fsync: bool, stats: Option<&Stats>) -> Result<()> {
    let began = stats.map(Stats::begin);
    if use_fsync { file.fsync() } else { file.sync() }?;
    if let (Some(stats), Some(began)) = (stats, began) {
        stats.end(began, HistogramKind::ManifestFileSyncMicros);
    }
    Ok(())
}

fn extent(number: FileNumber, writer: &Writer) -> Extent {
    Extent { number, bytes: writer.offset(), digest: writer.digest() }
}

/// Returns the mark that states that `of` is durable. Returns `None` if the digest of `of` is not known.
fn mark(of: &Extent) -> Option<EditMark> {
    Some(EditMark { offset: of.bytes, digest: of.digest?, number: Some(of.number) })
}

fn frame(writer: &mut Writer, records: &[Record], mark: Option<EditMark>, out: &mut Vec<u8>) -> Result<()> {
    let mut encoded = Vec::new();
    for (edit, timestamp_size) in records {
        encoded.clear();
        edit.encode(*timestamp_size, &mut encoded)?;
        base::invariant!(
            VersionEdit::decode(&encoded).is_ok(),
            "an edit for the MANIFEST does not decode: {edit:?}"
        );
        if mark.is_some() {
            // The tags of an edit may be in any order, so the mark can be encoded after the edit.
            VersionEdit { mark, ..VersionEdit::default() }.encode(0, &mut encoded)?;
        }
        writer.append(out, &encoded)?;
    }
    Ok(())
}
