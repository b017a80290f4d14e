//! `TableProperties`: the properties of an SST file as an object of Java.
//!
//! Facts: RocksDB `java/rocksjni/portal.h` (`TablePropertiesJni`).

use format::properties::{COLUMN_FAMILY_ID_UNKNOWN, Properties};

use crate::class::{Class, Method, Value};
use crate::collections;
use crate::fault::Outcome;
use crate::java::{JObject, JString, Java};

static NEW: Method = Class::new("org/rocksdb/TableProperties").method(
    "<init>",
    "(JJJJJJJJJJJJJJJJJJJJJJ[BLjava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;\
     Ljava/lang/String;Ljava/lang/String;Ljava/util/Map;Ljava/util/Map;)V",
);

/// Makes a `String`; null for an empty text.
fn text<'j>(java: Java<'j>, bytes: &[u8]) -> Outcome<JString<'j>> {
    if bytes.is_empty() {
        return Ok(JString::NULL);
    }
    java.new_text(&String::from_utf8_lossy(bytes))
}

/// Makes a `TableProperties`.
///
/// # Errors
/// OutOfMemoryError.
pub fn object<'j>(java: Java<'j>, properties: &Properties) -> Outcome<JObject<'j>> {
    let p = properties;
    let family = match p.column_family_id {
        COLUMN_FAMILY_ID_UNKNOWN => i64::from(i32::MAX),
        id => id as i64,
    };
    let numbers = [
        p.data_size,
        p.index_size,
        p.index_partitions,
        p.top_level_index_size,
        p.index_key_is_user_key,
        p.index_value_is_delta_encoded,
        p.filter_size,
        p.raw_key_size,
        p.raw_value_size,
        p.num_data_blocks,
        p.num_entries,
        p.num_deletions,
        p.num_merge_operands,
        p.num_range_deletions,
        p.format_version,
        p.fixed_key_len,
        family as u64,
        p.creation_time,
        p.oldest_key_time,
        p.slow_compression_estimated_data_size,
        p.fast_compression_estimated_data_size,
        p.global_seqno_offset.unwrap_or(0),
    ];
    let texts = [
        &p.filter_policy_name,
        &p.comparator_name,
        &p.merge_operator_name,
        &p.prefix_extractor_name,
        &p.property_collectors_names,
        &p.compression_name,
    ];
    let family_name = java.new_bytes(&p.column_family_name)?;
    let mut arguments: Vec<Value> = numbers.iter().map(|number| Value::long(*number as i64)).collect();
    arguments.push(family_name.object().into());
    let mut held = vec![family_name.object()];
    for bytes in texts {
        let text = text(java, bytes)?;
        arguments.push(text.into());
        held.push(text.object());
    }
    let collected = collections::map(java, p.user_collected.iter(), |java, (name, value)| {
        let name = java.new_text(&String::from_utf8_lossy(name))?;
        Ok((name.object(), java.new_text(&String::from_utf8_lossy(value))?.object()))
    })?;
    // RocksDB fills the readable properties only in its tools, so Java gets an empty map.
    let readable =
        collections::map(java, std::iter::empty::<()>(), |_, ()| Ok((JObject::NULL, JObject::NULL)))?;
    arguments.extend([Value::from(collected), Value::from(readable)]);
    held.extend([collected, readable]);
    let object = NEW.construct(java, &arguments)?;
    held.into_iter().for_each(|reference| java.forget(reference));
    Ok(object)
}
