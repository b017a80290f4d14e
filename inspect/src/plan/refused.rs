//! The options that the planner cannot plan, because a simulation without data has no answer for them.

use base::{Error, Result};
use options::{FamilyOptions, TableFactory};

use super::Workload;

/// The options whose objects decide over entries or files. The planner has no such object.
const OBJECTS: [&str; 3] = ["compaction_filter", "compaction_filter_factory", "sst_partitioner_factory"];

/// Returns true if the plan depends on the object of this option. An OPTIONS file may name an object that only the application has.
/// The planner then cannot plan the column family.
pub fn needs_object(option: &str) -> bool {
    OBJECTS.contains(&option)
}

/// Rejects options that change the tree in a way that the simulation does not have.
///
/// # Errors
/// NotSupported with the name of each such option and the reason.
pub(super) fn check(workload: &Workload, family: &FamilyOptions) -> Result<()> {
    let found = refused(workload, family);
    if found.is_empty() {
        return Ok(());
    }
    Err(Error::not_supported(format!("the planner cannot plan these options: {}", found.join("; "))))
}

fn refused(workload: &Workload, family: &FamilyOptions) -> Vec<String> {
    let has_filter = family.compaction_filter.is_some() || family.compaction_filter_factory.is_some();
    let leaves_tables = family.enable_blob_files && family.min_blob_size <= workload.entry_bytes;
    let rules = [
        (
            leaves_tables,
            "enable_blob_files=true",
            "blob files hold the values, and the simulation has only SST files",
        ),
        (has_filter, "compaction_filter", "the number of entries that the filter removes is unknown"),
        (
            family.sst_partitioner_factory.is_some(),
            "sst_partitioner_factory",
            "the simulation has no keys to divide",
        ),
        (
            family.comparator.timestamp_size() > 0,
            "comparator",
            "with timestamps, a compaction keeps older entries of a key",
        ),
        (
            family.inplace_update_support,
            "inplace_update_support=true",
            "an update in place adds no entry to the memtable",
        ),
        (
            !matches!(family.table_factory, TableFactory::BlockBased(_)),
            "table_factory",
            "the simulation has the sizes of block-based tables",
        ),
        (
            family.preclude_last_level_data_seconds > 0,
            "preclude_last_level_data_seconds",
            "a compaction writes two levels, by the age of the entries",
        ),
        (
            family.read_triggered_compaction_threshold > 0.0,
            "read_triggered_compaction_threshold",
            "the simulation has no reads",
        ),
    ];
    rules.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, name, why)| format!("{name} ({why})")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: Workload = Workload {
        size_bytes: 1 << 30,
        entry_bytes: 1000,
        written_bytes: 1 << 30,
        write_rate: 1 << 20,
        job_rate: 1 << 20,
        compression: 1.0,
    };

    #[test]
    fn each_option_that_the_simulation_lacks_is_named() {
        for (text, name) in [
            ("enable_blob_files=true;min_blob_size=1000", "enable_blob_files=true"),
            (
                "sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=2}",
                "sst_partitioner_factory",
            ),
            ("comparator=leveldb.BytewiseComparator.u64ts", "comparator"),
            ("inplace_update_support=true", "inplace_update_support=true"),
            ("table_factory=PlainTable", "table_factory"),
            ("preclude_last_level_data_seconds=60", "preclude_last_level_data_seconds"),
            ("read_triggered_compaction_threshold=0.5", "read_triggered_compaction_threshold"),
        ] {
            let mut family = FamilyOptions::default();
            family.update(text).unwrap();
            let found = refused(&WORKLOAD, &family);
            assert!(found.len() == 1 && found[0].starts_with(&format!("{name} (")), "{text}: {found:?}");
        }
        let mut family = FamilyOptions::default();
        assert!(check(&WORKLOAD, &family).is_ok());
        // Entries below `min_blob_size` stay in SST files.
        family.update("enable_blob_files=true;min_blob_size=1001").unwrap();
        assert!(check(&WORKLOAD, &family).is_ok());
        family.update("inplace_update_support=true;min_blob_size=0").unwrap();
        let error = check(&WORKLOAD, &family).unwrap_err();
        let text = error.message().to_string();
        assert!(
            text.contains("enable_blob_files=true (") && text.contains("; inplace_update_support=true ("),
            "{text}"
        );
    }
}
