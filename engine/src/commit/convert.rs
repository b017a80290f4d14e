//! Converts the metadata of an SST file between the form of a version and the form of the MANIFEST.

use format::edit::NewFile;
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;

/// Returns the record of an SST file for the MANIFEST.
pub fn new_file(level: usize, file: &TableFile) -> NewFile {
    base::invariant!(level < lsm::version::MAX_LEVELS, "file {} is on level {level}", file.number);
    NewFile {
        level: level as u32,
        number: file.number,
        path_id: file.path_id,
        file_size: file.size,
        smallest: file.smallest.to_vec(),
        largest: file.largest.to_vec(),
        smallest_seqno: file.smallest_seq,
        largest_seqno: file.largest_seq,
        marked_for_compaction: file.is_marked(),
        oldest_blob_file_number: file.oldest_blob_file,
        oldest_ancester_time: file.oldest_ancester_time,
        file_creation_time: file.file_creation_time,
        epoch_number: file.epoch_number,
        file_checksum: file.file_checksum.clone(),
        file_checksum_func_name: file.file_checksum_func_name.clone(),
        temperature: file.temperature,
        min_timestamp: file.min_timestamp.clone(),
        max_timestamp: file.max_timestamp.clone(),
        unique_id: file.unique_id,
        compensated_range_deletion_size: file.compensated_range_deletion_size,
        tail_size: file.tail_size,
        user_defined_timestamps_persisted: file.user_defined_timestamps_persisted,
        file_open_metadata: file.open_metadata.clone(),
    }
}

/// Returns the metadata of an SST file for a version. If the boundaries are stored without timestamps, they get the
/// smallest timestamp, and an exclusive end gets the largest, as in RocksDB.
pub fn file_from(file: &NewFile, timestamp_size: usize) -> FileMetaData {
    let stripped = !file.user_defined_timestamps_persisted && timestamp_size > 0;
    let (smallest, largest) = if stripped {
        (padded(&file.smallest, timestamp_size), padded(&file.largest, timestamp_size))
    } else {
        (file.smallest.clone(), file.largest.clone())
    };
    let mut out = FileMetaData::new(file.number, file.file_size, &smallest, &largest);
    out.path_id = file.path_id;
    out.smallest_seq = file.smallest_seqno;
    out.largest_seq = file.largest_seqno;
    out.marked_for_compaction = file.marked_for_compaction;
    out.oldest_blob_file = file.oldest_blob_file_number;
    out.oldest_ancester_time = file.oldest_ancester_time;
    out.file_creation_time = file.file_creation_time;
    out.epoch_number = file.epoch_number;
    out.file_checksum = file.file_checksum.clone();
    out.file_checksum_func_name = file.file_checksum_func_name.clone();
    out.temperature = file.temperature;
    out.min_timestamp = file.min_timestamp.clone();
    out.max_timestamp = file.max_timestamp.clone();
    out.unique_id = file.unique_id;
    out.compensated_range_deletion_size = file.compensated_range_deletion_size;
    out.tail_size = file.tail_size;
    out.user_defined_timestamps_persisted = file.user_defined_timestamps_persisted;
    out.open_metadata = file.file_open_metadata.clone();
    out
}

fn padded(internal: &[u8], timestamp_size: usize) -> Vec<u8> {
    let (user, trailer) = (base::key::user_key(internal), base::key::trailer(internal));
    let fill = if trailer == lsm::file_meta::EXCLUSIVE_END { 0xff } else { 0 };
    let mut key = user.to_vec();
    key.resize(user.len() + timestamp_size, fill);
    base::invariant!(
        key.len() == user.len() + timestamp_size,
        "a padded key of {} bytes has {}",
        user.len(),
        key.len()
    );
    base::key::append_with_trailer(&mut key, &[], trailer);
    key
}
