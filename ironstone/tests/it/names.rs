//! The types in the public signatures of the crate have names in the crate.

use std::sync::Arc;

use ironstone::{
    Batch, CacheRole, FilterChoice, FilterLevel, FilterPolicy, Ledger, OptionsFile, OptionsFileVersion,
    PinOwner, Pinned, Records, Result, WriteBatch,
};

struct Unlimited;

impl Ledger for Unlimited {
    fn charge(&self, _role: CacheRole, _bytes: usize, _force: bool) -> Result<()> {
        Ok(())
    }

    fn discharge(&self, _role: CacheRole, _bytes: usize) {}
}

#[test]
fn a_program_can_name_the_types_of_public_signatures() {
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    let records: Records<'_> = Batch::new(batch.bytes()).unwrap().records();
    assert_eq!(records.count(), 1);
    let choice = FilterPolicy::bloom(10.0).choose(5, FilterLevel::Flush);
    assert_eq!(choice, Some(FilterChoice::FastLocalBloom { millibits_per_key: 10_000 }));
    let owner: Arc<dyn PinOwner> = Arc::new(b"value".to_vec());
    assert_eq!(&*Pinned::shared(owner, 1..3), b"al");
    assert_eq!(OptionsFile::default().rocksdb_version, OptionsFileVersion([0; 3]));
    let ledger: Arc<dyn Ledger> = Arc::new(Unlimited);
    assert!(ledger.charge(CacheRole::Misc, 1, false).is_ok());
}
