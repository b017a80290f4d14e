//! Factories that options hold: `SstPartitionerFixedPrefixFactory`, `TablePropertiesCollectorFactory`.

use std::sync::Arc;

use lsm::cut::{FixedPrefixPartitioner, PartitionerFactory};
use table::collectors::CompactOnDeletion;
use table::sst::writer::CollectorFactory;

use super::OptionSet;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::JLongs;
use crate::native::{disposers, natives};

/// A partitioner of SST files.
struct PartitionerObject {
    factory: Arc<dyn PartitionerFactory>,
}

/// A collector of table properties.
struct CollectorObject {
    factory: Arc<dyn CollectorFactory>,
}

/// Converts a Java number to a count. Fails for a negative number.
fn count(name: &str, value: i64) -> Outcome<usize> {
    usize::try_from(value).map_err(|_| Fault::illegal_argument(format!("{name}: {value} is negative")))
}

disposers! {
    SstPartitionerFixedPrefixFactory: PartitionerObject;
}

natives! {
    fn SstPartitionerFixedPrefixFactory_newSstPartitionerFixedPrefixFactory0[_](length: i64) -> Handle {
        let length = count("the length of the prefix", length)?;
        Handle::new(PartitionerObject { factory: Arc::new(FixedPrefixPartitioner { length }) })
    }

    fn Options_setSstPartitionerFactory | ColumnFamilyOptions_setSstPartitionerFactory[_](
        options: Handle, factory: Handle
    ) {
        let factory = factory.shared::<PartitionerObject>()?.factory.clone();
        options.exclusive::<OptionSet>()?.family.sst_partitioner_factory = Some(factory);
    }

    fn TablePropertiesCollectorFactory_newCompactOnDeletionCollectorFactory[_](
        window: i64, trigger: i64, deletion_ratio: f64
    ) -> Handle {
        let collector = CompactOnDeletion {
            sliding_window_size: count("the window", window)?,
            deletion_trigger: count("the trigger", trigger)?,
            deletion_ratio,
            min_file_size: 0,
        };
        Handle::new(CollectorObject { factory: Arc::new(collector) })
    }

    fn TablePropertiesCollectorFactory_deleteCompactOnDeletionCollectorFactory[_](factory: Handle) {
        factory.close_as::<CollectorObject>();
    }

    /// Replaces the collectors of the options.
    fn Options_setTablePropertiesCollectorFactory[java](options: Handle, factories: JLongs) {
        let collector = |handle: i64| Ok(Handle::of(handle).shared::<CollectorObject>()?.factory.clone());
        let collectors = java.longs(factories)?.into_iter().map(collector).collect::<Outcome<Vec<_>>>()?;
        options.exclusive::<OptionSet>()?.family.table_properties_collectors = collectors;
    }

    /// Returns new handles of the collectors. Java closes the handles.
    fn Options_tablePropertiesCollectorFactory[java](options: Handle) -> JLongs<'j> {
        let collectors = options.shared::<OptionSet>()?.family.table_properties_collectors.clone();
        let handles = collectors.into_iter().map(|factory| Handle::new(CollectorObject { factory }).long());
        java.new_longs(&handles.collect::<Vec<_>>())?
    }
}
