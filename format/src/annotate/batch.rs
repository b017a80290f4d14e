//! Annotates write batches.

use base::key::ValueType::{self, *};

use super::{Probe, Tree};

/// Annotates the bytes of a write batch.
pub fn batch(bytes: &[u8]) -> Tree {
    let mut p = Probe::new(bytes, 0);
    p.u64("sequence");
    p.u32("count");
    while p.more() {
        p.group(record);
    }
    p.finish("batch")
}

fn record(p: &mut Probe<'_>) -> String {
    let name = |tag: &u8| match ValueType::from_u8(*tag) {
        Some(value_type) => format!("tag {tag} {value_type:?}"),
        None => format!("tag {tag} unknown"),
    };
    let tag = p.field(|c| c.u8(), name).and_then(ValueType::from_u8);
    // This read always fails and so ends the walk over the batch.
    let Some(tag) = tag.filter(|t| *t != DeletionWithTimestamp) else {
        p.field(|_| None::<()>, |()| String::new());
        return "record".to_string();
    };
    if tag.names_family() {
        p.varint32("family");
    }
    let (name, fields): (&str, &[&str]) = match tag {
        Value | FamilyValue => ("Put", &["key", "value"]),
        Deletion | FamilyDeletion => ("Delete", &["key"]),
        SingleDeletion | FamilySingleDeletion => ("SingleDelete", &["key"]),
        Merge | FamilyMerge => ("Merge", &["key", "operand"]),
        RangeDeletion | FamilyRangeDeletion => ("DeleteRange", &["begin", "end"]),
        BlobIndex | FamilyBlobIndex => ("PutBlobIndex", &["key", "blob index"]),
        WideColumnEntity | FamilyWideColumnEntity => ("PutEntity", &["key", "entity"]),
        ValuePreferredSeqno | FamilyValuePreferredSeqno => ("TimedPut", &["key", "value and write time"]),
        LogData => ("LogData", &["blob"]),
        BeginPrepareXid => ("BeginPrepare", &[]),
        BeginPersistedPrepareXid => ("BeginPersistedPrepare", &[]),
        BeginUnprepareXid => ("BeginUnprepare", &[]),
        EndPrepareXid => ("EndPrepare", &["xid"]),
        CommitXid => ("Commit", &["xid"]),
        CommitXidAndTimestamp => ("CommitWithTimestamp", &["timestamp", "xid"]),
        RollbackXid => ("Rollback", &["xid"]),
        Noop | DeletionWithTimestamp => ("Noop", &[]),
    };
    for field in fields {
        p.slice(field);
    }
    name.to_string()
}
