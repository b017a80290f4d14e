//! Rejected ingestions, imports and SST files of the application.

use std::path::PathBuf;
use std::sync::Arc;

use ironstone::{
    Checkpoint, EmbeddedBlobOptions, Error, ExternalFileInfo, FamilyDescriptor, ImportColumnFamilyOptions,
    IngestExternalFileArg, IngestExternalFileOptions, Kind, ReplaceRange, SequenceNumber, SstFileWriter,
};
use testkit::chance::Chance;

use super::{INVALID, Rejected, Wrong};

/// The SST file that the rejected calls name.
const FILE: &str = "/external.sst";

/// Writes an SST file with two rows.
fn write_file(w: &Rejected) -> Result<ExternalFileInfo, Error> {
    let mut writer = SstFileWriter::create(FILE, &w.options.db, &w.options.family)?;
    writer.put(b"key10", b"wrong")?;
    writer.put(b"key20", b"wrong")?;
    writer.finish()
}

/// Ingests the file into a drawn column family, after a change of the arguments.
fn ingest(
    w: &Rejected,
    chance: &mut Chance,
    change: impl FnOnce(&mut Vec<IngestExternalFileArg>),
) -> Result<(), Error> {
    write_file(w)?;
    let arg = IngestExternalFileArg::new(&w.family(chance), [FILE], &IngestExternalFileOptions::default());
    let mut args = vec![arg];
    change(&mut args);
    match chance.percent(50) {
        true => w.db().ingest_external_files_with(args),
        false => w.db().prepare_file_ingestion(args).map(drop),
    }
}

pub(super) const FILES: &[Wrong] = &[
    Wrong { name: "no ingestion", kinds: INVALID, call: |w, chance| ingest(w, chance, Vec::clear) },
    Wrong {
        name: "two ingestions into one column family",
        kinds: INVALID,
        call: |w, chance| ingest(w, chance, |args| args.push(args[0].clone())),
    },
    Wrong {
        name: "two ingestions of which one fills the block cache",
        kinds: INVALID,
        call: |w, _| {
            write_file(w)?;
            let arg = |at: usize, fill_cache: bool| {
                let options =
                    IngestExternalFileOptions { fill_cache, ..IngestExternalFileOptions::default() };
                IngestExternalFileArg::new(&w.families[at], [FILE], &options)
            };
            w.db().ingest_external_files_with(vec![arg(0, true), arg(1, false)])
        },
    },
    Wrong {
        name: "an ingestion with checksums or facts of another number of files",
        kinds: INVALID,
        call: |w, chance| {
            let info = write_file(w)?.prepared_file_info;
            let (checksum, is_of_facts) = ((vec![0; 4], "crc32c".to_string()), chance.percent(50));
            ingest(w, chance, |args| match is_of_facts {
                true => {
                    let infos: Vec<Arc<_>> = info.into_iter().collect();
                    args[0].file_infos = [&infos[..], &infos[..]].concat();
                }
                false => args[0].checksums = vec![checksum.clone(), checksum],
            })
        },
    },
    Wrong {
        name: "an ingestion behind all rows, without the option of the database",
        kinds: INVALID,
        call: |w, chance| {
            let replaces = chance.percent(50);
            ingest(w, chance, |args| {
                args[0].options.ingest_behind = true;
                args[0].atomic_replace_range = replaces.then_some(ReplaceRange::All);
            })
        },
    },
    Wrong {
        name: "options of an ingestion that contradict each other",
        kinds: &[Kind::InvalidArgument, Kind::NotSupported],
        call: |w, chance| {
            let which = chance.below(4);
            ingest(w, chance, |args| {
                let options = &mut args[0].options;
                match which {
                    0 => (options.move_files, options.link_files) = (true, true),
                    1 => (options.allow_db_generated_files, options.write_global_seqno) = (true, true),
                    2 => args[0].atomic_replace_range = Some(ReplaceRange::All),
                    _ => {
                        options.snapshot_consistency = false;
                        let (start, end) = (b"key11".to_vec(), b"key15".to_vec());
                        args[0].atomic_replace_range = Some(ReplaceRange::Keys { start, end });
                    }
                }
            })
        },
    },
    Wrong {
        name: "an ingestion of a file of another comparator",
        kinds: INVALID,
        call: |w, chance| {
            let mut options = w.options.clone();
            options.update("comparator=rocksdb.ReverseBytewiseComparator")?;
            let mut writer = SstFileWriter::create(FILE, &options.db, &options.family)?;
            writer.put(b"key10", b"wrong")?;
            writer.finish()?;
            w.family(chance).ingest_external_files([FILE], &IngestExternalFileOptions::default())
        },
    },
    Wrong {
        name: "facts of a file that is no file of the database",
        kinds: &[Kind::InvalidArgument, Kind::NotFound],
        call: |w, chance| {
            let own = w.db().live_files().first().map(|file| file.path.clone()).unwrap_or_default();
            let elsewhere = PathBuf::from("/elsewhere").join(own.file_name().unwrap_or_default());
            let paths = [PathBuf::from("/db/CURRENT"), PathBuf::from("/db/999999.sst"), elsewhere];
            w.family(chance).prepared_file_info_for_external_sst_ingestion(chance.pick(&paths)).map(drop)
        },
    },
    Wrong {
        name: "an import under another comparator, of no file, of a file with another size, or of two equal exports",
        kinds: &[Kind::InvalidArgument, Kind::Corruption],
        call: |w, chance| {
            let directory = format!("/export{}", chance.next());
            let mut export =
                Checkpoint::new(&w.other).export_column_family(&w.other.default_family(), &directory)?;
            let mut count = 1;
            match chance.below(5) {
                0 => export.db_comparator_name = "another comparator".to_string(),
                1 => export.files.clear(),
                2 => export.files.iter_mut().for_each(|file| file.size += 1),
                3 => export.files.iter_mut().for_each(|file| file.smallest_sequence = SequenceNumber::MAX),
                _ => count = 2,
            }
            let exports = vec![&export; count];
            let family = FamilyDescriptor::new("imported", w.options.family.clone());
            let options = ImportColumnFamilyOptions { move_files: false };
            w.db().create_family_with_import(family, &options, &exports).map(drop)
        },
    },
    Wrong {
        name: "an SST file without a row, or with rows in another order",
        kinds: INVALID,
        call: |w, chance| {
            let mut writer = SstFileWriter::create(FILE, &w.options.db, &w.options.family)?;
            match chance.below(5) {
                0 => writer.finish().map(drop),
                1 => {
                    writer.put(b"key20", b"value")?;
                    writer.delete(b"key20")
                }
                2 => {
                    writer.put(b"key20", b"value")?;
                    writer.merge(b"key10", b"value")
                }
                3 => writer.put_with_ts(b"key", &[0; 8], b"value"),
                _ => writer.delete_range(b"key20", b"key10"),
            }
        },
    },
    Wrong {
        name: "an SST file with blobs in a format without them",
        kinds: &[Kind::InvalidArgument, Kind::NotSupported],
        call: |w, chance| {
            let mut options = w.options.clone();
            let texts = ["block_based_table_factory={format_version=6}", "table_factory=PlainTable"];
            options.update(chance.pick::<&str>(&texts))?;
            let blobs = EmbeddedBlobOptions::default();
            SstFileWriter::create_with_embedded_blobs(FILE, &options.db, &options.family, &blobs).map(drop)
        },
    },
];
