//! Collections and boxes of `java.util` and `java.lang`.

use crate::class::{Class, Method, Value};
use crate::fault::Outcome;
use crate::java::{JObject, Java};

static NEW_MAP: Method = Class::new("java/util/HashMap").method("<init>", "()V");
static PUT: Method =
    Class::new("java/util/HashMap").method("put", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");
static NEW_LIST: Method = Class::new("java/util/ArrayList").method("<init>", "()V");
static ADD: Method = Class::new("java/util/ArrayList").method("add", "(Ljava/lang/Object;)Z");
static INTEGER: Method = Class::new("java/lang/Integer").method("<init>", "(I)V");
static LONG: Method = Class::new("java/lang/Long").method("<init>", "(J)V");

/// Makes a `HashMap`.
///
/// # Errors
/// OutOfMemoryError; the errors of `entry`.
pub fn map<'j, T>(
    java: Java<'j>,
    items: impl Iterator<Item = T>,
    entry: impl Fn(Java<'j>, T) -> Outcome<(JObject<'j>, JObject<'j>)>,
) -> Outcome<JObject<'j>> {
    let map = NEW_MAP.construct(java, &[])?;
    for item in items {
        let (key, value) = entry(java, item)?;
        java.forget(PUT.call_object(java, map, &[key.into(), value.into()])?);
        java.forget(key);
        java.forget(value);
    }
    Ok(map)
}

/// Makes an `ArrayList`.
///
/// # Errors
/// OutOfMemoryError; the errors of `item`.
pub fn list<'j, T>(
    java: Java<'j>,
    items: impl Iterator<Item = T>,
    item: impl Fn(Java<'j>, T) -> Outcome<JObject<'j>>,
) -> Outcome<JObject<'j>> {
    let list = NEW_LIST.construct(java, &[])?;
    for one in items {
        let object = item(java, one)?;
        ADD.call_bool(java, list, &[object.into()])?;
        java.forget(object);
    }
    Ok(list)
}

/// Makes an `Integer`.
///
/// # Errors
/// OutOfMemoryError.
pub fn int<'j>(java: Java<'j>, value: i32) -> Outcome<JObject<'j>> {
    INTEGER.construct(java, &[Value::int(value)])
}

/// Makes a `Long`.
///
/// # Errors
/// OutOfMemoryError.
pub fn long<'j>(java: Java<'j>, value: i64) -> Outcome<JObject<'j>> {
    LONG.construct(java, &[Value::long(value)])
}
