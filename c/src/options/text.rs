//! Options that are strings.

use std::ffi::CString;

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

c_api! {
    fn rocksdb_options_set_db_log_dir(options: mut rocksdb_options_t, dir: text) {
        options.db.db_log_dir = dir.to_string();
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_db_log_dir(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.db_log_dir, &mut options.returned.db_log_dir, &size)
    }

    fn rocksdb_options_set_wal_dir(options: mut rocksdb_options_t, dir: text) {
        options.db.wal_dir = dir.to_string();
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_wal_dir(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.wal_dir, &mut options.returned.wal_dir, &size)
    }

    fn rocksdb_options_set_db_host_id(options: mut rocksdb_options_t, id: text) {
        options.db.db_host_id = id.to_string();
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_db_host_id(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.db_host_id, &mut options.returned.db_host_id, &size)
    }

    fn rocksdb_options_set_daily_offpeak_time_utc(options: mut rocksdb_options_t, range: text) {
        options.db.daily_offpeak_time_utc = range.to_string();
    }

    /// Returns the option. The string is valid until the next call of this function, or until the handle is destroyed.
    fn rocksdb_options_get_daily_offpeak_time_utc(options: mut rocksdb_options_t, size: out usize) -> Text {
        show(&options.db.daily_offpeak_time_utc, &mut options.returned.daily_offpeak_time_utc, &size)
    }
}
