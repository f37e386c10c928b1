use proptest::prelude::*;
use serde_json::json;

use super::*;

fn pack(json: &str) -> Pack {
    Pack::from_json(json.as_bytes()).unwrap_or_else(|why| panic!("{json}: {why}"))
}

fn now() -> Number {
    Number::integer(1_498_780_179)
}

#[test]
fn every_kind_of_value_is_read_from_cbor() {
    // [{2: 0.1f32, 5: 1.5f16, 6: -30, 99: [1], "x": {}}, {3: "text"}, {4: true}, {8: h'fffe'}]
    let bytes = b"\x84\xa5\x02\xfa\x3d\xcc\xcc\xcd\x05\xf9\x3e\x00\x06\x38\x1d\x18\x63\x81\x01\x61x\xa0\
                  \xa1\x03\x64text\xa1\x04\xf5\xa1\x08\x42\xff\xfe";
    let read = decode(bytes).unwrap();
    assert_eq!(read, json!([{"t": -30, "v": 0.1, "s": 1.5}, {"vs": "text"}, {"vb": true}, {"vd": "__4"}]));
}

#[test]
fn a_node_writes_time_to_the_millisecond_and_the_digits_it_has() {
    let value = motemix_object::Decimal::new(215, 1).unwrap();
    let record = motemix_object::Record { name: "temp", unit: Some("Cel"), value };
    let bytes = encode(Duration::from_micros(1_763_000_000_500_999), &[record, record]);
    let json = Pack::read(&bytes).unwrap().to_json();
    assert_eq!(
        json,
        r#"[{"bt":1763000000.5,"n":"temp","u":"Cel","v":21.5},{"n":"temp","u":"Cel","v":21.5}]"#
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (json, line) in [
        ("[", "EOF while parsing a list at line 1 column 1"),
        ("[{\"v\":1},\n {\"v\":}]", "expected value at line 2 column 7"),
        ("[]", "an array without a record"),
        (
            "[{\"n\":\"t\",\"v\":NaN}]",
            "NaN or an infinity, which JSON has not; leave out what was not measured",
        ),
        ("[{\"v\": -Infinity}]", "NaN or an infinity, which JSON has not; leave out what was not measured"),
        (
            "[{\"v\":1},\n{\"v\":nan}]",
            "NaN or an infinity, which JSON has not; leave out what was not measured",
        ),
        ("[{\"n\":NaN1}]", "NaN or an infinity, which JSON has not; leave out what was not measured"),
        ("", "not an array of records, which begins with `[`"),
        ("{\"temperature\":33.06}", "not an array of records, which begins with `[`"),
        ("\u{feff}{\"e\":[]}", "not an array of records, which begins with `[`"),
        ("[7]", "record 1: not an object of labels"),
        ("[{\"v\":1},{\"v\":\"1\"}]", "record 2: label \"v\": not a number"),
        ("[{\"v\":1,\"v\":2}]", "record 1: label \"v\": a second value in one record"),
        ("[{\"n\":\"a\",\"n\":\"b\"}]", "record 1: label \"n\": twice in one record"),
        ("[{\"v\":1,\"vb\":true}]", "record 1: label \"vb\": a second value in one record"),
        ("[{\"v\":1e999}]", "record 1: label \"v\": a number beyond the range of binary64"),
        ("[{\"v\":null}]", "record 1: label \"v\": not a text, a number or a truth value"),
        ("[{\"bver\":1.5}]", "record 1: label \"bver\": not a positive whole number"),
        ("[{\"bver\":0}]", "record 1: label \"bver\": not a positive whole number"),
        (
            "[{\"vd\":\"aGk=\"}]",
            "record 1: label \"vd\": not base64 in the URL-safe alphabet without padding",
        ),
        ("[{\"place_\":1}]", "record 1: label \"place_\": has to be understood, and is not"),
    ] {
        let why = Pack::from_json(json.as_bytes()).unwrap_err().to_string();
        assert_eq!(why, format!("not SenML in JSON: {line}"));
    }
    for (bytes, line) in [
        (&b"\x81\x00"[..], "record 1: unexpected type u8 at position 0: expected map, at byte 1"),
        (b"\x9f\xa0\xff", "not an array of a known length, at byte 0"),
        (b"\x81\xa0\x00", "bytes after the pack, at byte 2"),
        (b"\x81\xa1\x02\x61x", "record 1: label \"v\": not a number, at byte 3"),
        (b"\x81\xa1\x62p_\x00", "record 1: label \"p_\": has to be understood, and is not, at byte 2"),
        (
            b"\x81\xa1\x02\xc4\x82\x19\xff\xff\x01",
            "record 1: label \"v\": a number beyond the range of binary64, at byte 3",
        ),
        (
            b"\x81\xa1\x02\xf9\x7e\x00",
            "record 1: label \"v\": a number beyond the range of binary64, at byte 3",
        ),
        (b"\x81\xa1\x41a\x00", "record 1: not a label, at byte 2"),
        // The version is an unsigned integer in CBOR (6): no decimal fraction, no binary number.
        (b"\x81\xa1\x20\xc4\x82\x01\x01", "record 1: label \"bver\": not a positive whole number, at byte 3"),
        (b"\x81\xa1\x20\xf9\x49\x00", "record 1: label \"bver\": not a positive whole number, at byte 3"),
        (b"\x81\xa1\x20\x29", "record 1: label \"bver\": not a positive whole number, at byte 3"),
    ] {
        let why = Pack::from_cbor(bytes).unwrap_err().to_string();
        let place = |why: &str| why.rsplit_once(", at byte").map(|(_, byte)| byte.to_owned());
        if why.contains("unexpected type") {
            assert_eq!(place(&why), place(line));
        } else {
            assert_eq!(why, format!("not SenML in CBOR: {line}"));
        }
        assert!(!why.contains('\n'), "{why}");
    }
}

#[test]
fn whatever_is_inside_the_array_may_be_without_a_length() {
    // RFC 8428 (6) asks a length of the array alone; RFC 8949 (3.2.2, 3.2.3) has the other forms.
    for (bytes, json) in [
        ("81 bf 00 6174 02 182a ff", json!([{"n": "t", "v": 42}])),
        ("82 bf 00 6174 02 01 ff bf 00 6175 03 6161 ff", json!([{"n": "t", "v": 1}, {"n": "u", "vs": "a"}])),
        ("81 a2 00 7f 6174 6165 ff 03 7f 6161 ff", json!([{"n": "te", "vs": "a"}])),
        ("81 a2 00 6174 08 5f 41ff 41fe ff", json!([{"n": "t", "vd": "__4"}])),
        ("81 a2 00 6174 02 c4 9f 20 18d7 ff", json!([{"n": "t", "v": 21.5}])),
        // What is not known is left out in these forms as well.
        ("81 bf 00 6174 7f 6178 ff bf 01 9f 00 ff ff 02 01 ff", json!([{"n": "t", "v": 1}])),
    ] {
        let bytes = hex::decode(bytes.replace(' ', "")).unwrap();
        assert_eq!(decode(&bytes), Ok(json));
        assert!(Pack::read_valid(&bytes).is_ok());
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end} bytes were taken for a pack");
        }
    }
    for bytes in [
        "9f a2 00 6174 02 01 ff",
        "81 bf 00 ff",
        "81 bf ff ff",
        "81 a1 00 7f 4161 ff",
        "81 a2 00 6174 02 c4 9f 20 ff",
        "81 a2 00 6174 02 c4 9f 20 01 01 ff",
        "81 ff",
        "81 bf 7f 615f ff 00 ff",
    ] {
        let bytes = hex::decode(bytes.replace(' ', "")).unwrap();
        assert!(decode(&bytes).is_err(), "{bytes:02x?}");
    }
}

#[test]
fn text_is_never_called_cbor() {
    let array = "not SenML in JSON: not an array of records, which begins with `[`";
    for (text, line) in [
        (&b"{\"temperature\":33.06}"[..], array),
        (b"\xef\xbb\xbf{\"e\":[{\"n\":\"t\",\"v\":1}]}", array),
        (b" \r\n{}", array),
        (b"\"t\"", array),
        (b"21.5", array),
        (b"", array),
        (b"\xff\xfe[\0{\0}\0]\0", "not SenML in JSON: in UTF-16; SenML is in UTF-8"),
        (b"\xfe\xff\0[\0]", "not SenML in JSON: in UTF-16; SenML is in UTF-8"),
    ] {
        assert_eq!(Pack::read(text).unwrap_err().to_string(), line);
        assert_eq!(Pack::from_json(text).unwrap_err().to_string(), line);
    }
    // RFC 8259 (8.1) lets a reader leave the mark out.
    let marked = Pack::read(b"\xef\xbb\xbf[{\"n\":\"t\",\"v\":1}]\r\n");
    assert_eq!(marked, Ok(pack(r#"[{"n":"t","v":1}]"#)));
}

/// Each rule of RFC 8428, and a pack that breaks it: in JSON and, where it can be, in CBOR.
#[test]
fn a_pack_is_held_to_each_rule_of_the_standard() {
    for (rule, json) in [
        ("4.2: a record has a value or a sum", r#"[{"n":"t"}]"#),
        ("4.2: a record has one value", r#"[{"n":"t","v":1,"vs":"a"}]"#),
        ("4.2: a sum is a number", r#"[{"n":"t","s":"1"}]"#),
        ("4.2: a unit is a text", r#"[{"n":"t","u":1,"v":1}]"#),
        ("4.2: a time is a number", r#"[{"n":"t","t":"now","v":1}]"#),
        ("4.2: an update time is a number", r#"[{"n":"t","ut":true,"v":1}]"#),
        ("4.3: a name is a text", r#"[{"n":1,"v":1}]"#),
        ("4.3: a value has the type of its label", r#"[{"n":"t","v":true}]"#),
        ("4.3: a value has the type of its label", r#"[{"n":"t","vb":1}]"#),
        ("4.3: a value has the type of its label", r#"[{"n":"t","vs":1}]"#),
        ("4.1: a base name is a text", r#"[{"bn":1,"n":"t","v":1}]"#),
        ("4.1: a base time is a number", r#"[{"bt":"0","n":"t","v":1}]"#),
        ("4.1: a base unit is a text", r#"[{"bu":1,"n":"t","v":1}]"#),
        ("4.1: a base value is a number", r#"[{"bv":"1","n":"t","v":1}]"#),
        ("4.1: a base sum is a number", r#"[{"bs":"1","n":"t","v":1}]"#),
        ("4.1: a version is a positive integer", r#"[{"bver":0,"n":"t","v":1}]"#),
        ("4.4: a version is understood", r#"[{"bver":11,"n":"t","v":1}]"#),
        ("4.4: all records have one version", r#"[{"n":"t","v":1},{"bver":9,"n":"t","v":1}]"#),
        ("4.4: what ends with _ is understood", r#"[{"n":"t","v":1,"x_":1}]"#),
        ("4.5.1: there is a name", r#"[{"v":1}]"#),
        ("4.5.1: a name has its characters", r#"[{"n":"a b","v":1}]"#),
        ("4.5.1: a name has its characters", r#"[{"n":"größe","v":1}]"#),
        ("4.5.1: a name begins with a letter or digit", r#"[{"n":"-t","v":1}]"#),
        ("4.5.1: so does one with a base name", r#"[{"bn":"/a/","n":"t","v":1}]"#),
        ("5: numbers are those of binary64", r#"[{"n":"t","v":1e309}]"#),
        ("5: nothing is no number", r#"[{"n":"t","v":null}]"#),
        ("5: data is base64url without padding", r#"[{"n":"t","vd":"aGk="}]"#),
    ] {
        assert!(Pack::read_valid(json.as_bytes()).is_err(), "{rule}: {json}");
        if let Ok(pack) = Pack::from_json(json.as_bytes()) {
            assert!(Pack::read_valid(&pack.to_cbor()).is_err(), "{rule}: {json} in CBOR");
        }
    }
    // 6: what is no number, and what is infinite.
    for value in
        ["f97e00", "f97c00", "f9fc00", "fa7f800000", "fb7ff0000000000000", "fb7ff8000000000000", "f6", "f7"]
    {
        let bytes = hex::decode(format!("81a20061740 2{value}").replace(' ', "")).unwrap();
        assert!(Pack::read_valid(&bytes).is_err(), "{value}");
    }
    for json in [
        r#"[{"n":"t","s":1}]"#,
        r#"[{"n":"t","v":1,"s":1}]"#,
        r#"[{"bn":"urn:dev:mac:0024befffe804ff1/"},{"n":"t","bv":1}]"#,
        r#"[{"bver":10,"n":"t","v":1,"x":{"y":[1]}}]"#,
        r#"[{"bver":5,"n":"t","v":1}]"#,
    ] {
        assert!(Pack::read_valid(json.as_bytes()).is_ok(), "{json}");
    }
}

#[test]
fn what_is_deep_or_long_is_refused() {
    for opening in ["[", "{\"x\":"] {
        let deep = format!("[{{\"x\":{}", opening.repeat(100_000));
        assert!(Pack::read(deep.as_bytes()).is_err());
    }
    let deep = [b"\x81\xa1\x61x".as_slice(), &[0x81].repeat(100_000), b"\x00"].concat();
    assert!(Pack::read(&deep).is_ok(), "a label that is not known is left out, however deep");
    let long = format!("[{{\"vs\":\"{}\"}}]", "x".repeat(MAX_PACK_LEN));
    assert_eq!(Pack::read(long.as_bytes()).unwrap_err().wrong(), &Wrong::TooLong);
    let many = format!("[{}{{}}]", "{},".repeat(MAX_RECORDS));
    assert_eq!(Pack::read(many.as_bytes()).unwrap_err().wrong(), &Wrong::TooLong);
    // An array that says to have 2⁶⁴ − 1 records takes no memory for them.
    let boast = b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\xa0";
    assert_eq!(Pack::read(boast).unwrap_err().wrong(), &Wrong::TooLong);
    let name = format!("[{{\"n\":\"{}\",\"v\":1}}]", "x".repeat(MAX_NAME_LEN + 1));
    assert_eq!(Pack::read(name.as_bytes()).unwrap_err().wrong(), &Wrong::LongText);
}

#[test]
fn base_values_are_added_and_hold_until_others_come() {
    let resolved = pack(
        r#"[{"bn":"a/","bv":0.1,"bs":10,"bt":-1,"n":"x","v":0.2},
            {"n":"y","s":5},{"bn":"b/","bv":1,"n":"x","vs":"text"},{"n":"z","v":-1}]"#,
    )
    .resolve(now())
    .unwrap();
    assert_eq!(
        resolved.to_pack().to_json(),
        r#"[{"n":"a/x","t":1498780178,"v":0.3,"s":10},{"n":"a/y","t":1498780178,"v":0.1,"s":15},"#.to_owned()
            + r#"{"n":"b/x","t":1498780178,"vs":"text","s":10},{"n":"b/z","t":1498780178,"v":0,"s":10}]"#
    );
    assert_eq!(resolved.records().len(), 4);
}

#[test]
fn times_from_two_to_the_28_are_absolute_and_records_come_in_their_order() {
    let resolved = pack(
        r#"[{"n":"later","t":268435455,"v":1},{"n":"absolute","t":268435456,"v":1},
            {"n":"now","v":1},{"n":"too","t":0,"v":1},{"n":"before","t":-0.25,"v":1}]"#,
    )
    .resolve(now())
    .unwrap();
    let times: Vec<_> =
        resolved.records().iter().map(|record| (record.name.as_str(), record.time.to_string())).collect();
    let expected = [
        ("absolute", "268435456"),
        ("before", "1498780178.75"),
        ("now", "1498780179"),
        ("too", "1498780179"),
        ("later", "1767215634"),
    ];
    assert_eq!(times, expected.map(|(name, time)| (name, time.to_owned())));
}

#[test]
fn what_cannot_be_resolved_is_refused_with_its_record() {
    for (json, line) in [
        (r#"[{"v":1}]"#, "record 1: \"\" is no name; "),
        (r#"[{"n":"a","v":1},{"n":"-a","v":1}]"#, "record 2: \"-a\" is no name; "),
        (r#"[{"bn":"a b","v":1}]"#, "record 1: \"a b\" is no name; "),
        (r#"[{"n":"a\n","v":1}]"#, "record 1: \"a\\n\" is no name; "),
        (r#"[{"n":"a"}]"#, "record 1: neither a value nor a sum"),
        // Base values alone measure nothing.
        ("[{}]", "record 1: neither a value nor a sum"),
        (r#"[{"bn":"a"},{"bv":1}]"#, "record 2: neither a value nor a sum"),
        (r#"[{"n":"a","v":1},{"n":"b","u":"Cel"}]"#, "record 2: neither a value nor a sum"),
        (r#"[{"bver":11,"n":"a","v":1}]"#, "record 1: version 11; versions up to 10 are understood"),
        (
            r#"[{"n":"a","v":1},{"bver":5,"n":"a","v":1}]"#,
            "record 2: another version than the records before",
        ),
        (r#"[{"bv":1.7e308,"n":"a","v":1.7e308}]"#, "record 1: a number beyond the range of binary64"),
    ] {
        let why = pack(json).resolve(now()).unwrap_err().to_string();
        assert!(why.starts_with(&format!("not valid SenML: {line}")), "{why}");
        assert!(!why.contains('\n'), "{why}");
    }
    let base = "x".repeat(MAX_NAME_LEN);
    let long = format!(r#"[{{"bn":"{base}","n":"y","v":1}}]"#);
    assert!(matches!(pack(&long).resolve(now()).unwrap_err().why, Unresolvable::Name(_)));
}

#[test]
fn what_is_no_pack_is_refused_and_never_panics() {
    let whole = pack(r#"[{"bt":1763000000.5,"n":"temp","u":"Cel","v":21.5,"x":1}]"#).to_cbor();
    for end in 0..whole.len() {
        assert!(decode(&whole[..end]).is_err(), "{end} bytes were taken for a pack");
    }
    for (position, value) in (0..whole.len()).flat_map(|p| (0..=255).map(move |v| (p, v))) {
        let mut changed = whole.clone();
        changed[position] = value;
        if let Ok(pack) = Pack::read(&changed) {
            let _ = pack.resolve(now());
        }
    }
    for bytes in [&b""[..], b"hello", b"\x80", b"\x81\xa0\x00", b"\x81\x00", b"\x81\xa1\x61_\x00"] {
        assert!(decode(bytes).is_err(), "{bytes:02x?} was taken for a pack");
    }
}

fn any_number() -> impl Strategy<Value = Number> {
    (any::<i64>(), -30..30_i32).prop_filter_map("in range", |(m, e)| Number::new(m.into(), e))
}

prop_compose! {
    fn any_record()(
        base_name in proptest::option::of("[ -~é\\n\"]{0,8}"),
        base_time in proptest::option::of(any_number()),
        base_unit in proptest::option::of("[a-zA-Z/%]{0,4}"),
        base_value in proptest::option::of(any_number()),
        base_sum in proptest::option::of(any_number()),
        version in proptest::option::of(1..20_u64),
        name in proptest::option::of("[a-z/:]{0,8}"),
        unit in proptest::option::of("[a-zA-Z/%]{0,4}"),
        times in proptest::option::of((any_number(), any_number())),
        value in proptest::option::of(prop_oneof![
            any_number().prop_map(Value::Number),
            ".{0,8}".prop_map(Value::Text),
            any::<bool>().prop_map(Value::Boolean),
            proptest::collection::vec(any::<u8>(), 0..8).prop_map(Value::Data),
        ]),
        sum in proptest::option::of(any_number()),
    ) -> Record {
        let (time, update_time) = times.unzip();
        Record {
            base_name, base_time, base_unit, base_value, base_sum, version, name, unit, time, update_time,
            value, sum,
        }
    }
}

proptest! {
    #[test]
    fn both_forms_keep_every_digit(records in proptest::collection::vec(any_record(), 1..5)) {
        let pack = Pack { records };
        prop_assert_eq!(Pack::read(pack.to_json().as_bytes()), Ok(pack.clone()));
        prop_assert_eq!(Pack::read(&pack.to_cbor()), Ok(pack.clone()));
        let value: serde_json::Value = serde_json::from_str(&pack.to_json()).unwrap();
        prop_assert_eq!(value.as_array().map(Vec::len), Some(pack.records.len()));
        if let Ok(resolved) = pack.resolve(now()) {
            let again = resolved.to_pack().resolve(Number::ZERO);
            let is_absolute = |record: &ResolvedRecord| record.time >= Number::integer(1 << 28);
            if resolved.records().iter().all(is_absolute) && !resolved.records().is_empty() {
                prop_assert_eq!(again, Ok(resolved));
            }
        }
    }
}
