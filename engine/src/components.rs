//! What is handed in beside the options: shared resources and the user's code that no option names.

use table::sst::BlockCache;

use crate::event::Listener;
use crate::options::FamilyOptions;
use crate::sync::Arc;

/// Components of a database that its options do not hold.
#[derive(Clone, Default)]
pub struct Components {
    pub listeners: Vec<Arc<dyn Listener>>,
    /// The cache of families that bring none; `None` makes one of the table options' size.
    pub block_cache: Option<Arc<BlockCache>>,
}

/// A column family to open or create.
#[derive(Clone)]
pub struct FamilyDescriptor {
    pub name: String,
    pub options: FamilyOptions,
    /// `None`: the database's.
    pub block_cache: Option<Arc<BlockCache>>,
    /// Where values of blob files are cached. Default `None`: reads of blobs always access the file. May be the block
    /// cache itself.
    pub blob_cache: Option<Arc<BlockCache>>,
}

impl FamilyDescriptor {
    pub fn new(name: impl Into<String>, options: FamilyOptions) -> Self {
        FamilyDescriptor { name: name.into(), options, block_cache: None, blob_cache: None }
    }
}
