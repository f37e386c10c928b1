//! A msgpack value for people and for programs that speak JSON.

use rmpv::Value;
use serde_json::{Map, Value as Json, json};

/// The value as JSON, as far as JSON can say it. What it cannot is an object with one telling key:
/// byte strings are `{"bin": HEX}`, extension values `{"ext": TYPE, "hex": HEX}`, maps with other
/// keys than texts `{"pairs": [[KEY, VALUE], …]}`, and numbers that are none `{"float": "NaN"}`.
/// Whoever must tell these from an object of the same look reads the msgpack.
pub fn json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(flag) => (*flag).into(),
        Value::Integer(number) => (number.as_u64().map(Json::from))
            .or_else(|| number.as_i64().map(Json::from))
            .unwrap_or(Json::Null),
        Value::F32(number) => float(f64::from(*number)),
        Value::F64(number) => float(*number),
        Value::String(text) => text.as_str().map_or_else(|| binary(text.as_bytes()), Json::from),
        Value::Binary(bytes) => binary(bytes),
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Map(pairs) => map(pairs),
        Value::Ext(kind, bytes) => json!({ "ext": kind, "hex": hex::encode(bytes) }),
    }
}

fn float(number: f64) -> Json {
    if number.is_finite() { number.into() } else { json!({ "float": number.to_string() }) }
}

fn binary(bytes: &[u8]) -> Json {
    json!({ "bin": hex::encode(bytes) })
}

fn map(pairs: &[(Value, Value)]) -> Json {
    let mut object = Map::new();
    for (key, value) in pairs {
        // A key that comes twice is one that an object cannot say.
        let is_said = key.as_str().is_some_and(|key| object.insert(key.to_owned(), json(value)).is_none());
        if !is_said {
            let pairs = pairs.iter().map(|(key, value)| json!([json(key), json(value)]));
            return json!({ "pairs": pairs.collect::<Vec<_>>() });
        }
    }
    Json::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_msgpack_can_say_is_said() {
        let text = |text: &str| Value::from(text);
        let said = [
            (Value::Nil, "null"),
            (Value::from(-3), "-3"),
            (Value::from(u64::MAX), "18446744073709551615"),
            (Value::F64(0.5), "0.5"),
            (Value::F64(f64::NAN), r#"{"float":"NaN"}"#),
            (text("a\u{1b}[2J"), r#""a\u001b[2J""#),
            (Value::Binary(vec![0, 255]), r#"{"bin":"00ff"}"#),
            (Value::Ext(2, vec![7]), r#"{"ext":2,"hex":"07"}"#),
            (Value::Array(vec![Value::from(true), text("x")]), r#"[true,"x"]"#),
            (Value::Map(vec![(text("a"), Value::from(1))]), r#"{"a":1}"#),
            (Value::Map(vec![(Value::from(1), Value::from(2))]), r#"{"pairs":[[1,2]]}"#),
            (
                Value::Map(vec![(text("a"), Value::from(1)), (text("a"), Value::from(2))]),
                r#"{"pairs":[["a",1],["a",2]]}"#,
            ),
        ];
        for (value, expected) in said {
            assert_eq!(json(&value).to_string(), expected);
        }
    }
}
