//! Setters and getters of the options that RocksDB 11.8.1 no longer has (`retired`).

use super::OptionSet;
use crate::native::rows;

rows! {
    OptionSet [Options DBOptions] |o|;
    setAccessHintOnCompactionStart accessHintOnCompactionStart: i8 => o.retired.access_hint_on_compaction_start;
    setFailIfOptionsFileError failIfOptionsFileError: bool => o.retired.fail_if_options_file_error;
    setRandomAccessMaxBufferSize randomAccessMaxBufferSize: i64 => o.retired.random_access_max_buffer_size;
    setSkipCheckingSstFileSizesOnDbOpen skipCheckingSstFileSizesOnDbOpen: bool => o.retired.skip_checking_sst_file_sizes_on_db_open;
}

rows! {
    OptionSet [Options ColumnFamilyOptions] |o|;
    setMaxWriteBufferNumberToMaintain maxWriteBufferNumberToMaintain: i32 => o.retired.max_write_buffer_number_to_maintain;
}
