//! msgpack values as the file writes them: JSON that keeps the type on the wire.

use rmpv::Value;
use serde_json::{Value as Json, json};

use crate::pack;

/// The value that a tree describes. `None` if it describes none.
pub fn read(tree: &Json) -> Option<Value> {
    let members = tree.as_object()?;
    let bytes = |key: &str| hex::decode(members.get(key)?.as_str()?).ok();
    if let Some(kind) = members.get("ext") {
        return Some(Value::Ext(kind.as_i64()?.try_into().ok()?, bytes("data")?));
    }
    if members.contains_key("f64") {
        return Some(Value::F64(f64::from_be_bytes(bytes("f64")?.try_into().ok()?)));
    }
    let (kind, value) = members.iter().next().filter(|_| members.len() == 1)?;
    match (kind.as_str(), value) {
        ("int", Json::Number(number)) => {
            number.as_u64().map(Value::from).or_else(|| number.as_i64().map(Value::from))
        }
        ("str", Json::String(text)) => Some(Value::from(text.as_str())),
        ("bin", Json::String(_)) => Some(pack::binary(bytes("bin")?)),
        ("arr", Json::Array(values)) => values.iter().map(read).collect::<Option<_>>().map(Value::Array),
        ("nil", Json::Bool(true)) => Some(Value::Nil),
        ("bool", Json::Bool(value)) => Some(Value::Boolean(*value)),
        _ => None,
    }
}

/// The tree of a value, without the decimals of its numbers.
pub fn write(value: &Value) -> Json {
    match value {
        Value::Nil => json!({ "nil": true }),
        Value::Boolean(value) => json!({ "bool": value }),
        Value::Integer(number) => number
            .as_u64()
            .map_or_else(|| json!({ "int": number.as_i64() }), |number| json!({ "int": number })),
        Value::F64(number) => json!({ "f64": hex::encode(number.to_be_bytes()) }),
        Value::String(text) => json!({ "str": text.as_str() }),
        Value::Binary(bytes) => json!({ "bin": hex::encode(bytes) }),
        Value::Array(values) => json!({ "arr": values.iter().map(write).collect::<Vec<_>>() }),
        Value::Ext(kind, data) => json!({ "ext": kind, "data": hex::encode(data) }),
        Value::F32(_) | Value::Map(_) => json!({ "other": value.to_string() }),
    }
}

/// A tree without the decimals of its numbers, which are there for people: their bytes are what counts.
pub fn without_floats(tree: &Json) -> Json {
    match tree {
        Json::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "float");
            Json::Object(kept.map(|(key, value)| (key.clone(), without_floats(value))).collect())
        }
        Json::Array(values) => Json::Array(values.iter().map(without_floats).collect()),
        other => other.clone(),
    }
}
