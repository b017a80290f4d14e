//! Ingestion of external SST files concurrently with other threads.

use ironstone::{DbOptions, IngestExternalFileOptions, SstFileWriter};

use crate::expected::{self, KEYS, name};
use crate::worker::Worker;

/// The largest number of keys of one file.
const KEYS_MAX: u64 = 20;

impl Worker<'_> {
    /// Puts and deletes a range of keys by the ingestion of a file. Does nothing if a slot of the range is open, in a column family with
    /// timestamps, and in a database with transactions: an ingestion takes no locks.
    pub fn ingest(&mut self, family: usize, from: usize) -> Result<(), String> {
        let to = (from + 1 + self.chance.below(KEYS_MAX) as usize).min(KEYS);
        let handle = &self.epoch.families[family];
        let options = handle.options();
        if self.epoch.store.has_transactions()
            || options.comparator.timestamp_size() > 0
            || (from..to).any(|key| self.slots.slot(family, key).is_open())
        {
            return Ok(());
        }
        let path = self.epoch.store.path().with_extension(format!("{}.sst", self.thread));
        let mut written = SstFileWriter::create(&path, &DbOptions::default(), &options);
        for key in from..to {
            let put = self.chance.percent(80);
            let generation = self.slots.begin(family, key, put);
            let (key, value) =
                (name(self.thread, key), expected::value(self.thread, family, key, generation));
            written = written.and_then(|mut file| {
                match value {
                    Some(value) => file.put(key.as_bytes(), &value)?,
                    None => file.delete(key.as_bytes())?,
                }
                Ok(file)
            });
        }
        let written = written.and_then(|mut file| file.finish());
        written.map_err(|error| format!("thread {}: an external SST file: {error}", self.thread))?;
        let options = IngestExternalFileOptions {
            move_files: self.chance.percent(50),
            ..IngestExternalFileOptions::default()
        };
        let outcome = handle.ingest_external_files([&path], &options);
        let outcome = self.told("ingest", outcome);
        // With `move_files`, the file is gone after a success.
        let _ = std::fs::remove_file(&path);
        if outcome?.is_some() {
            (from..to).for_each(|key| self.slots.settle(family, key));
        }
        Ok(())
    }
}
