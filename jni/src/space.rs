//! `SstFileManager`: limits of space and of the speed of deletions.

use std::sync::Arc;

use env::Env;
use env::sst_files::{SstFileManager, SstFileOptions};

use crate::collections;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::JObject;
use crate::logger::LoggerObject;
use crate::native::{disposers, natives};

disposers! {
    SstFileManager: Arc<SstFileManager>;
}

fn change(manager: Handle, change: impl FnOnce(&mut SstFileOptions)) -> Outcome<()> {
    let manager = manager.shared::<Arc<SstFileManager>>()?;
    let mut options = manager.options();
    change(&mut options);
    manager.set_options(options);
    Ok(())
}

natives! {
    /// Makes an SST file manager. The logger, if there is one, gets a line for each deletion.
    fn SstFileManager_newSstFileManager[_](
        env: Handle, logger: Handle, rate_bytes_per_sec: i64, max_trash_db_ratio: f64, bytes_max_delete_chunk: i64
    ) -> Handle {
        let info_log = match logger.is_null() {
            true => None,
            false => Some(logger.shared::<LoggerObject>()?.logger.clone()),
        };
        let env = env.shared::<Env>()?.clone();
        let options = SstFileOptions {
            rate_bytes_per_sec,
            max_trash_db_ratio,
            bytes_max_delete_chunk: bytes_max_delete_chunk as u64,
            ..SstFileOptions::default()
        };
        let manager = SstFileManager::new(env, options);
        manager.set_info_log(info_log);
        Handle::new(manager)
    }

    fn SstFileManager_setMaxAllowedSpaceUsage[_](manager: Handle, bytes: i64) {
        change(manager, |options| options.max_allowed_space = bytes as u64)?;
    }

    fn SstFileManager_setCompactionBufferSize[_](manager: Handle, bytes: i64) {
        change(manager, |options| options.compaction_buffer_size = bytes as u64)?;
    }

    fn SstFileManager_setDeleteRateBytesPerSecond[_](manager: Handle, rate: i64) {
        change(manager, |options| options.rate_bytes_per_sec = rate)?;
    }

    fn SstFileManager_getDeleteRateBytesPerSecond[_](manager: Handle) -> i64 {
        manager.shared::<Arc<SstFileManager>>()?.options().rate_bytes_per_sec
    }

    fn SstFileManager_setMaxTrashDBRatio[_](manager: Handle, ratio: f64) {
        change(manager, |options| options.max_trash_db_ratio = ratio)?;
    }

    fn SstFileManager_getMaxTrashDBRatio[_](manager: Handle) -> f64 {
        manager.shared::<Arc<SstFileManager>>()?.options().max_trash_db_ratio
    }

    fn SstFileManager_getTotalSize[_](manager: Handle) -> i64 {
        manager.shared::<Arc<SstFileManager>>()?.total_size() as i64
    }

    fn SstFileManager_isMaxAllowedSpaceReached[_](manager: Handle) -> bool {
        manager.shared::<Arc<SstFileManager>>()?.is_space_reached(0)
    }

    fn SstFileManager_isMaxAllowedSpaceReachedIncludingCompactions[_](manager: Handle) -> bool {
        manager.shared::<Arc<SstFileManager>>()?.is_space_reached_with_compactions()
    }

    fn SstFileManager_getTrackedFiles[java](manager: Handle) -> JObject<'j> {
        let tracked = manager.shared::<Arc<SstFileManager>>()?.tracked();
        collections::map(java, tracked.into_iter(), |java, (path, bytes)| {
            Ok((java.new_text(&path.to_string_lossy())?.object(), collections::long(java, bytes as i64)?))
        })?
    }
}
