//! Options that are strings.

use std::ffi::CString;
use std::path::Path;

use super::{c_string, rocksdb_options_t};
use crate::abi::{Out, Text};

/// The strings that getters returned. The options keep the strings, because the program reads them after the call.
#[derive(Clone, Default)]
pub struct Returned {
    db_log_dir: CString,
    wal_dir: CString,
    db_host_id: CString,
    daily_offpeak_time_utc: CString,
}

fn show(text: &str, place: &mut CString, size: &Out<usize>) -> Text {
    *place = c_string(text);
    size.set(place.as_bytes().len());
    Text::string(place)
}

/// Returns the text for an option. If the text is not UTF-8, returns `None`, and the open rejects the option by name.
fn utf8(options: &mut rocksdb_options_t, option: &'static str, text: &Path) -> Option<String> {
    match text.to_str() {
        Some(text) => {
            options.rejected.remove(option);
            Some(text.to_string())
        }
        None => {
            options.rejected.not_utf8(option);
            None
        }
    }
}

c_api! {
    /// Sets the option. If the text is not UTF-8, the open fails.
    fn rocksdb_options_set_db_log_dir(options: mut rocksdb_options_t, dir: path) {
        if let Some(text) = utf8(options, "db_log_dir", dir) {
            options.db.db_log_dir = text;
        }
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_db_log_dir(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.db_log_dir, &mut options.returned.db_log_dir, &size)
    }

    /// Sets the option. If the text is not UTF-8, the open fails.
    fn rocksdb_options_set_wal_dir(options: mut rocksdb_options_t, dir: path) {
        if let Some(text) = utf8(options, "wal_dir", dir) {
            options.db.wal_dir = text;
        }
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_wal_dir(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.wal_dir, &mut options.returned.wal_dir, &size)
    }

    fn rocksdb_options_set_db_host_id(options: mut rocksdb_options_t, id: path) {
        if let Some(text) = utf8(options, "db_host_id", id) {
            options.db.db_host_id = text;
        }
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_db_host_id(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.db_host_id, &mut options.returned.db_host_id, &size)
    }

    fn rocksdb_options_set_daily_offpeak_time_utc(options: mut rocksdb_options_t, range: path) {
        if let Some(text) = utf8(options, "daily_offpeak_time_utc", range) {
            options.db.daily_offpeak_time_utc = text;
        }
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_daily_offpeak_time_utc(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.daily_offpeak_time_utc, &mut options.returned.daily_offpeak_time_utc, &size)
    }
}
