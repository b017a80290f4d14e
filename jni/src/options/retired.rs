//! Options of older releases of the Java classes that RocksDB 11.8.1 no longer has.
//!
//! `max_write_buffer_number_to_maintain` has an effect: its value times `write_buffer_size` becomes
//! `max_write_buffer_size_to_maintain`. The other options have no effect. Their setters store the value for the getters.
//! Not here: the setters and getters (`retired_setters`).
//!
//! Facts: RocksDB `HISTORY.md` (removed options).

use engine::options::FamilyOptions;

/// The values of the retired options.
#[derive(Clone)]
pub struct Retired {
    pub access_hint_on_compaction_start: i8,
    pub fail_if_options_file_error: bool,
    pub random_access_max_buffer_size: u64,
    pub skip_checking_sst_file_sizes_on_db_open: bool,
    pub max_write_buffer_number_to_maintain: i32,
}

impl Default for Retired {
    fn default() -> Self {
        Retired {
            access_hint_on_compaction_start: 1,
            fail_if_options_file_error: true,
            random_access_max_buffer_size: 1 << 20,
            skip_checking_sst_file_sizes_on_db_open: false,
            max_write_buffer_number_to_maintain: 0,
        }
    }
}

impl Retired {
    /// Returns the options of a column family with the retired options applied.
    pub fn apply(&self, family: &FamilyOptions) -> FamilyOptions {
        let mut family = family.clone();
        if family.max_write_buffer_size_to_maintain == 0 {
            let size = i64::try_from(family.write_buffer_size).unwrap_or(i64::MAX);
            family.max_write_buffer_size_to_maintain = match self.max_write_buffer_number_to_maintain {
                ..0 => -1,
                number => size.saturating_mul(number.into()),
            };
        }
        family
    }

    /// Returns these options with the column family options of `other`.
    pub fn with_family_of(&self, other: &Retired) -> Retired {
        let max_write_buffer_number_to_maintain = other.max_write_buffer_number_to_maintain;
        Retired { max_write_buffer_number_to_maintain, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_memtables_to_keep_is_a_size() {
        let mut family = FamilyOptions { write_buffer_size: 10, ..FamilyOptions::default() };
        let kept = |number| Retired { max_write_buffer_number_to_maintain: number, ..Retired::default() };
        assert_eq!(kept(3).apply(&family).max_write_buffer_size_to_maintain, 30);
        assert_eq!(kept(-1).apply(&family).max_write_buffer_size_to_maintain, -1);
        assert_eq!(kept(0).apply(&family).max_write_buffer_size_to_maintain, 0);
        family.max_write_buffer_size_to_maintain = 7;
        assert_eq!(kept(3).apply(&family).max_write_buffer_size_to_maintain, 7);
    }
}
