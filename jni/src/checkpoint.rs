//! `Checkpoint`, and exports of column families.

use ironstone::{Checkpoint, CheckpointOptions, ExportImportFilesMetaData};

use crate::db::{FamilyObject, database};
use crate::handle::Handle;
use crate::java::JString;
use crate::native::{disposers, natives};
use crate::numbers;

disposers! {
    Checkpoint: Checkpoint;
    ExportImportFilesMetaData: ExportImportFilesMetaData;
}

natives! {
    fn Checkpoint_newCheckpoint[_](db: Handle) -> Handle {
        let db = database(db)?;
        db.child(Checkpoint::new(&db.front))
    }

    fn Checkpoint_createCheckpoint[java](checkpoint: Handle, path: JString) {
        let (checkpoint, path) = (checkpoint.shared::<Checkpoint>()?, java.text(path)?);
        // Flink, which has the classes of 8.10.0, cannot upload an empty file.
        let options = CheckpointOptions { has_empty_wal: !numbers::are_old(), ..CheckpointOptions::default() };
        checkpoint.create_with(path, &options)?;
    }

    fn Checkpoint_exportColumnFamily[java](checkpoint: Handle, cf: Handle, path: JString) -> Handle {
        let (checkpoint, path) = (checkpoint.shared::<Checkpoint>()?, java.text(path)?);
        let export = checkpoint.export_column_family(&cf.shared::<FamilyObject>()?.front, path)?;
        Handle::new(export)
    }
}
