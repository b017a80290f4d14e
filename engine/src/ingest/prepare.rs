//! The first phase: each external file is checked, then linked or copied into the database under a new number.
//!
//! After this phase the files are durable, and no MANIFEST names the files. A crash leaves orphan files, which the next
//! open removes. Dropping [`Prepared`] removes the files at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::key;
use base::stats::HistogramKind;
use base::{Arrange, Error, Kind, Result, SequenceNumber};
use env::fs::{RandomRead, ReadHints};
use env::{AppendHints, FileSystem};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use kernel::checksum::crc32c;
use lsm::file_meta::UNKNOWN_CHECKSUM;
use table::sst_file::PreparedFileInfo;

use super::{ExternalFile, IngestRequest, ReplaceRange};
use crate::family::Family;
use crate::files::Pending;
use crate::options::{IngestExternalFileOptions, Temperature};
use crate::output::JobTools;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};

/// Bytes of one read of a checksum.
const READ_BYTES: usize = 256 << 10;

/// A file inside the database that no MANIFEST names yet.
pub struct PreparedFile {
    pub external: ExternalFile,
    pub pending: Pending,
    /// The path inside the database.
    pub path: PathBuf,
    /// True if the file is a copy. False if the file is a link.
    pub copied: bool,
    pub checksum: Vec<u8>,
    pub checksum_name: String,
    /// The temperature, as the MANIFEST stores it.
    pub temperature: u8,
}

/// The files for one column family, ready to be committed. Dropping the value removes the files.
pub struct Prepared {
    pub family: Arc<Family>,
    pub files: Vec<PreparedFile>,
    pub options: IngestExternalFileOptions,
    pub replace: Option<ReplaceRange>,
    /// True if two of the files have a user key in common.
    pub overlapping: bool,
    tools: Arc<JobTools>,
    /// True if a MANIFEST names the files, or may name the files.
    keep: bool,
}

impl Prepared {
    /// Keeps the files when the value is dropped.
    pub fn keep_files(&mut self) {
        self.keep = true;
    }

    /// Recomputes whether files overlap, after files were added.
    pub fn find_overlaps(&mut self) {
        self.overlapping = any_overlap(&self.family, &self.files);
    }

    /// Appends the files of another prepared ingestion into the same column family, as if one ingestion had prepared both: the
    /// entries of `later` are newer. RocksDB: `ExternalSstFileIngestionJob::MergeForSameColumnFamily`.
    ///
    /// # Errors
    /// NotSupported if one of them replaces a range. InvalidArgument if the options differ, or if files overlap that the options
    /// do not let overlap.
    pub fn append(&mut self, mut later: Prepared) -> Result<()> {
        base::invariant!(
            self.family.id() == later.family.id(),
            "files of {:?} are ingested into {:?}",
            later.family,
            self.family
        );
        if self.replace.is_some() || later.replace.is_some() {
            return Err(Error::not_supported(
                "cannot merge file ingestion handles for the same column family when atomic_replace_range is used",
            ));
        }
        if self.options != later.options {
            return Err(Error::invalid_argument(
                "file ingestion handles for the same column family must be prepared with the same \
                 IngestExternalFileOptions",
            ));
        }
        self.files.append(&mut later.files);
        self.find_overlaps();
        check_overlap(&self.family, &self.options, self.overlapping)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.keep {
            // No MANIFEST names the files. If a file cannot be deleted now, the next open deletes it.
            self.files.iter().for_each(|file| drop(self.tools.env.fs.unlink(&file.path)));
        }
    }
}

/// Checks the files of a request, and links or copies the files into the database. The caller has checked the options with
/// [`check_requests`].
///
/// # Errors
/// Errors of [`ExternalFile::read`]; errors of the file system. After an error, the database and the external files are as
/// before.
pub fn prepare(tools: &Arc<JobTools>, request: IngestRequest) -> Result<Prepared> {
    let began = tools.stats.begin();
    let IngestRequest { family, files, options, checksums, infos, temperature, replace } = request;
    let read = read_all(tools, &family, (&files, &infos), &options)?;
    let ranges: Vec<_> = read.iter().map(|(file, _)| file).collect();
    let overlapping = ranges_overlap(&family, &ranges);
    check_ranges(&family, &options, replace.as_ref(), &ranges, overlapping)?;
    let mut prepared = Prepared {
        family,
        files: Vec::with_capacity(read.len()),
        options,
        replace,
        overlapping,
        tools: tools.clone(),
        keep: false,
    };
    for (external, pending) in read {
        let file = bring_file(tools, &prepared, external, pending, temperature)?;
        prepared.files.push(file);
    }
    base::invariant!(
        prepared.files.is_sorted_by(|a, b| a.pending.number < b.pending.number),
        "the {} files of an ingestion are not in the order of their numbers",
        prepared.files.len()
    );
    let dir = prepared.family.parts().table_dir(0).to_path_buf();
    tools.env.fs.open_dir(&dir).and_then(|dir| dir.sync())?;
    fill_checksums(tools, &mut prepared, &checksums)?;
    tools.stats.end(began, HistogramKind::IngestExternalFilePrepareTime);
    Ok(prepared)
}

/// Opens and checks the external files in `file_opening_threads` threads. Returns the files in the order of the request. A file
/// with a [`PreparedFileInfo`] is not opened.
///
/// # Errors
/// The error of the first file, in the order of the request, that does not open.
fn read_all(
    tools: &Arc<JobTools>,
    family: &Arc<Family>,
    (files, infos): (&[PathBuf], &[Arc<PreparedFileInfo>]),
    options: &IngestExternalFileOptions,
) -> Result<Vec<(ExternalFile, Pending)>> {
    // A negative number of the user counts as one thread. A thread without a file is useless.
    let threads = usize::try_from(options.file_opening_threads).unwrap_or(1).clamp(1, files.len().max(1));
    let pending: Vec<Pending> = files.iter().map(|_| tools.numbers.take_pending()).collect();
    let numbers: Vec<_> = pending.iter().map(|pending| pending.number).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let open = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(path), Some(number)) = (files.get(at), numbers.get(at)) else { return };
            let external = match infos.get(at) {
                Some(info) => ExternalFile::from_info(tools, family, (path, info), *number, options),
                None => ExternalFile::read(tools, family, path, *number, options),
            };
            let failed = external.is_err();
            found.lock().insert(at, external);
            if failed {
                // All files before this file are being read already, so the result has the first error of the
                // request.
                next.store(files.len(), Ordering::Relaxed);
            }
        }
    };
    if threads == 1 {
        open();
    } else {
        let jobs = (0..threads).map(|_| Box::new(open) as Box<dyn FnOnce() + Send>).collect();
        tools.env.executor.run_all(jobs);
    }
    let mut read = Vec::with_capacity(files.len());
    for (external, pending) in found.into_inner().into_values().zip(pending) {
        read.push((external?, pending));
    }
    if read.len() != files.len() {
        return Err(Error::aborted("a thread that opens external files ended early; ingest the files again"));
    }
    base::invariant!(
        read.iter().zip(&numbers).all(|((_, pending), number)| pending.number == *number),
        "an external file has the number of another file"
    );
    Ok(read)
}

/// Checks the options of all requests of an ingestion, in the order of RocksDB's `DBImpl::PrepareFileIngestion`.
///
/// # Errors
/// InvalidArgument if there is no request, if two requests have one column family, if a request has no file, and for options that
/// contradict each other. NotSupported for combinations of options that no ingestion supports.
pub fn check_requests(tools: &JobTools, requests: &[IngestRequest]) -> Result<()> {
    let Some(first) = requests.first() else {
        return Err(Error::invalid_argument("ingestion arg list is empty"));
    };
    let mut ids: Vec<_> = requests.iter().map(|request| request.family.id()).collect();
    ids.arrange();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::invalid_argument("ingestion args have duplicate column families"));
    }
    for (at, request) in requests.iter().enumerate() {
        if request.files.is_empty() {
            return Err(Error::invalid_argument(format!("external_files[{at}] is empty")));
        }
        if !request.infos.is_empty() && request.infos.len() != request.files.len() {
            return Err(Error::invalid_argument(format!(
                "file_infos[{at}] size must match external_files[{at}] size"
            )));
        }
        if !request.infos.is_empty() && request.options.write_global_seqno {
            return Err(Error::invalid_argument(
                "write_global_seqno is not supported when file_infos is set",
            ));
        }
        if request.options.fill_cache != first.options.fill_cache {
            return Err(Error::invalid_argument("fill_cache should be the same across ingestion options."));
        }
    }
    requests.iter().try_for_each(|request| check_request(tools, request))
}

fn check_request(tools: &JobTools, request: &IngestRequest) -> Result<()> {
    let invalid = |words: &str| Err(Error::invalid_argument(words));
    let (options, family) = (&request.options, &request.family);
    if options.ingest_behind {
        if family.has_timestamps() {
            return Err(Error::not_supported(
                "Column family with user-defined timestamps enabled doesn't support ingest behind.",
            ));
        }
        if !tools.options.load().allow_ingest_behind && !family.options().cf_allow_ingest_behind {
            // The text is RocksDB's, with its placeholder.
            return Err(Error::invalid_argument(
                "Can't ingest_behind file in ColumnFamily %s with cf_allow_ingest_behind=false",
            ));
        }
        if request.replace.is_some() {
            return invalid("Can't combine atomic_replace_range with ingest_behind.");
        }
    }
    if options.snapshot_consistency && request.replace.is_some() {
        return Err(Error::not_supported(
            "atomic_replace_range not yet supported with snapshot_consistency.",
        ));
    }
    if options.allow_db_generated_files && options.write_global_seqno {
        return Err(Error::not_supported(
            "write_global_seqno is deprecated and does not work with allow_db_generated_files.",
        ));
    }
    if options.move_files && options.link_files {
        return invalid("`move_files` and `link_files` can not both be true.");
    }
    let checksums = request.checksums.len();
    if checksums != 0 && checksums != request.files.len() {
        return invalid(
            "The checksum information of ingested sst files are nonempty and the size of checksums or the size of the \
             checksum function names does not match with the number of ingested sst files",
        );
    }
    Ok(())
}

fn check_ranges(
    family: &Family,
    options: &IngestExternalFileOptions,
    replace: Option<&ReplaceRange>,
    files: &[&ExternalFile],
    overlapping: bool,
) -> Result<()> {
    if let Some(ReplaceRange::Keys { start, end }) = replace {
        let order = &family.order().user;
        let inside = |file: &&ExternalFile| {
            let (first, last) = (key::user_key(&file.smallest), key::user_key(&file.largest));
            let ends = order.compare_without_timestamp(last, end);
            order.compare_without_timestamp(first, start).is_ge()
                && (ends.is_lt() || ends.is_eq() && is_exclusive(&file.largest))
        };
        if !files.iter().all(inside) {
            return Err(Error::invalid_argument("Atomic replace range does not contain all files"));
        }
    }
    check_overlap(family, options, overlapping)
}

/// Checks that the files may overlap, if they do.
fn check_overlap(family: &Family, options: &IngestExternalFileOptions, overlapping: bool) -> Result<()> {
    if !overlapping {
        return Ok(());
    }
    if options.ingest_behind {
        return Err(Error::not_supported(
            "Files with overlapping ranges cannot be ingested with ingestion behind mode.",
        ));
    }
    if !options.allow_global_seqno && !options.allow_db_generated_files {
        return Err(Error::invalid_argument(
            "Global seqno is required, but disabled (because external files key range overlaps).",
        ));
    }
    if family.order().user.timestamp_size() > 0 {
        return Err(Error::not_supported(
            "Files with overlapping ranges cannot be ingested to column family with user-defined timestamp enabled.",
        ));
    }
    Ok(())
}

/// Links or copies one file into the database under its new number.
fn bring_file(
    tools: &JobTools,
    prepared: &Prepared,
    external: ExternalFile,
    pending: Pending,
    temperature: Temperature,
) -> Result<PreparedFile> {
    let (options, parts) = (&prepared.options, prepared.family.parts());
    let path = parts.table_path(pending.number, 0);
    let link = options.move_files || options.link_files;
    let copied =
        bring_in(&*tools.env.fs, (&external.path, &path), link, options.failed_move_fall_back_to_copy)?;
    let bottommost = options.ingest_behind || options.fail_if_not_bottommost_level;
    let temperature = match copied {
        false => temperature as u8,
        true if bottommost => prepared.family.options().last_level_temperature as u8,
        true => parts.pick.temperatures.default_write_temperature,
    };
    Ok(PreparedFile {
        external,
        pending,
        path,
        copied,
        checksum: Vec::new(),
        checksum_name: UNKNOWN_CHECKSUM.to_string(),
        temperature,
    })
}

/// Links or copies a file, and makes its content durable. Returns true if the file was copied.
///
/// # Errors
/// Errors of the file system. If a link is not possible and `fall_back` is not set, the error of the link. IoError if `to`
/// exists: another database may own the file. After an error, `to` is as before.
pub fn bring_in(
    fs: &dyn FileSystem,
    (from, to): (&Path, &Path),
    link: bool,
    fall_back: bool,
) -> Result<bool> {
    if fs.exists(to)? {
        return Err(
            Error::io_error("the file exists already, and no MANIFEST of this database names it").file(to)
        );
    }
    let brought = link_or_copy(fs, (from, to), link, fall_back);
    if brought.is_err() {
        // The file is incomplete or not durable. If it cannot be deleted now, the next open deletes it.
        let _ = fs.unlink(to);
    }
    brought
}

fn link_or_copy(
    fs: &dyn FileSystem,
    (from, to): (&Path, &Path),
    link: bool,
    fall_back: bool,
) -> Result<bool> {
    if link {
        match fs.link(from, to) {
            Ok(()) => {
                // The application may not have synced the file.
                let mut file = fs.reopen(to, &AppendHints::default())?;
                file.sync()?;
                file.close()?;
                return Ok(false);
            }
            Err(error) if error.kind() == Kind::NotSupported && fall_back => {}
            Err(error) => return Err(error),
        }
    }
    fs.copy(from, to).map(|_| true)
}

fn fill_checksums(tools: &JobTools, prepared: &mut Prepared, given: &[(Vec<u8>, String)]) -> Result<()> {
    if tools.options.load().file_checksum_gen_factory.is_none() {
        return Ok(());
    }
    for (at, file) in prepared.files.iter_mut().enumerate() {
        let given = given.get(at);
        if let Some((_, name)) = given
            && name != CRC32C_CHECKSUM_FUNC_NAME
        {
            return Err(Error::invalid_argument(format!(
                "Checksum function name {name} is not the one of the database, {CRC32C_CHECKSUM_FUNC_NAME}"
            ))
            .file(&file.external.path));
        }
        file.checksum_name = CRC32C_CHECKSUM_FUNC_NAME.to_string();
        if let Some((checksum, _)) = given.filter(|_| !prepared.options.verify_file_checksum) {
            file.checksum = checksum.clone();
            continue;
        }
        file.checksum = file_checksum(&*tools.env.fs, &file.path)?;
        if let Some((checksum, _)) = given.filter(|(checksum, _)| *checksum != file.checksum) {
            let hex = |bytes: &[u8]| table::dump::hex(bytes);
            return Err(Error::corruption(format!(
                "Checksum verification mismatch for ingestion file, using function {CRC32C_CHECKSUM_FUNC_NAME}. Expected: {} Computed: {}",
                hex(checksum),
                hex(&file.checksum)
            ))
            .file(&file.external.path));
        }
    }
    Ok(())
}

/// Computes the checksum of a whole file, in the form of the MANIFEST.
///
/// # Errors
/// Errors of the file system.
pub(crate) fn file_checksum(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let file: Arc<dyn RandomRead> = fs.open_random(path, &ReadHints::default())?;
    let mut buffer = vec![0; READ_BYTES];
    let (mut at, mut crc) = (0, 0u32);
    loop {
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            return Ok(crc.to_be_bytes().to_vec());
        }
        crc = crc32c::extend(crc, &buffer[..got]);
        at += got as u64;
    }
}

fn is_exclusive(largest: &[u8]) -> bool {
    key::trailer(largest) == lsm::file_meta::EXCLUSIVE_END
}

/// Returns true if the key range of `a` ends before the key range of `b` begins.
pub(super) fn is_before(family: &Family, a: &ExternalFile, b: &ExternalFile) -> bool {
    let order = &family.order().user;
    let ends = order.compare_without_timestamp(key::user_key(&a.largest), key::user_key(&b.smallest));
    ends.is_lt() || ends.is_eq() && is_exclusive(&a.largest)
}

fn ranges_overlap(family: &Family, files: &[&ExternalFile]) -> bool {
    let mut sorted = files.to_vec();
    sorted.arrange_by(|a, b| family.order().compare(&a.smallest, &b.smallest));
    sorted.windows(2).any(|pair| !is_before(family, pair[0], pair[1]))
}

fn any_overlap(family: &Family, files: &[PreparedFile]) -> bool {
    let files: Vec<_> = files.iter().map(|file| &file.external).collect();
    ranges_overlap(family, &files)
}

impl PreparedFile {
    /// Writes a global sequence number into the file (`write_global_seqno`), for releases of RocksDB that do not read the
    /// number from the MANIFEST. The file is replaced by a changed copy: the file may be a link to the external file.
    ///
    /// # Errors
    /// InvalidArgument if the file has no field for the number; errors of the file system.
    pub fn store_seq(&mut self, tools: &JobTools, seq: SequenceNumber) -> Result<()> {
        let fs = &*tools.env.fs;
        let at = self.external.stored_seq_offset.ok_or_else(|| {
            Error::invalid_argument(
                "Trying to set global seqno for a file that don't have a global seqno field",
            )
        })?;
        let dir = self.path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let copy = dir.join(format::names::temp(self.pending.number));
        let written = patch(fs, &self.path, &copy, at, &seq.get().to_le_bytes())
            .and_then(|()| fs.rename(&copy, &self.path))
            .and_then(|()| fs.open_dir(&dir)?.sync());
        written.inspect_err(|_| drop(fs.unlink(&copy)))?;
        if self.checksum_name != UNKNOWN_CHECKSUM {
            self.checksum = file_checksum(fs, &self.path)?;
        }
        Ok(())
    }
}

/// Copies a file, with `bytes` in place of the bytes at offset `at`, and syncs the copy.
fn patch(fs: &dyn FileSystem, from: &Path, to: &Path, at: u64, bytes: &[u8]) -> Result<()> {
    let source = fs.open_random(from, &ReadHints::default())?;
    let mut target = fs.create(to, &AppendHints::default())?;
    let mut buffer = vec![0; READ_BYTES];
    let mut offset = 0;
    loop {
        let got = source.read_at(offset, &mut buffer)?;
        if got == 0 {
            break;
        }
        for (i, byte) in bytes.iter().enumerate() {
            if let Some(place) = (at + i as u64).checked_sub(offset).filter(|place| *place < got as u64) {
                buffer[place as usize] = *byte;
            }
        }
        target.append(&buffer[..got])?;
        offset += got as u64;
    }
    target.sync()?;
    target.close()
}
