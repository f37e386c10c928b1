//! msgpack values as the file writes them: JSON that keeps the type on the wire.

use rmpv::Value;
use serde_json::{Value as Json, json};

use motemix_loopix::pack;

/// How far the decimals of a number may be off.
const ROUNDING: f64 = 1e-15;

/// The value that a tree describes. `None` if it describes none.
pub fn read(tree: &Json) -> Option<Value> {
    let members = tree.as_object()?;
    let bytes = |key: &str| hex::decode(members.get(key)?.as_str()?).ok();
    if let Some(kind) = members.get("ext") {
        return Some(Value::Ext(kind.as_i64()?.try_into().ok()?, bytes("data")?));
    }
    if members.contains_key("f64") {
        let number = f64::from_be_bytes(bytes("f64")?.try_into().ok()?);
        // The decimals are there for people; a parser of JSON may round the last of them otherwise.
        let decimals = members.get("float")?.as_f64()?;
        return ((number - decimals).abs() <= number.abs() * ROUNDING).then_some(Value::F64(number));
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
