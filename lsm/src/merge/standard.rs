//! The operators every RocksDB knows by name.

use std::sync::Arc;

use super::{FullMerge, Merged, MergeOperator, Failure};

macro_rules! stub { ($($name:ident)*) => { $(
    #[derive(Default)]
    pub struct $name;
)* } }
stub!(BytesXor Max Put SortList StringAppend StringAppendTest UInt64Add);
impl MergeOperator for Put {
    fn name(&self) -> &str { "PutOperator" }
    fn full(&self, merge: &FullMerge<'_>, _out: &mut Vec<u8>) -> Result<Merged, Failure> {
        Ok(Merged::Operand(merge.operands.len() - 1))
    }
}

/// The operator of that name or id, as option strings give it.
pub fn by_name(name: &str) -> Option<Arc<dyn MergeOperator>> {
    match name { "put" => Some(Arc::new(Put)), _ => None }
}

/// All names `by_name` knows.
pub fn names() -> &'static [&'static str] {
    &["put"]
}
