//! The known answers hold, and the checker notices what does not.

use std::path::Path;

use motemix_lab::loopix::vectors::{NotVectors, REFUSALS, Report, check};
use proptest::prelude::*;
use serde_json::{Value, json};

/// All checks of the file. Whoever changes it says so here: no check is lost unnoticed.
const CHECKS: usize = 5524;

fn bytes() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sphinxmix.json"))
        .expect("the file")
}

fn file() -> Value {
    serde_json::from_slice(&bytes()).expect("JSON")
}

fn report(file: &Value) -> Report {
    check(file.to_string().as_bytes()).expect("a file of known answers")
}

fn failures(file: &Value) -> Vec<String> {
    report(file).failures().map(|failure| failure.name.clone()).collect()
}

#[test]
fn all_known_answers_are_found() {
    let report = check(&bytes()).expect("a file of known answers");
    assert_eq!(report.failures().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(report.skipped().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(report.passed(), CHECKS);
}

/// Changes the last hexadecimal digit of a value, or a number by one.
fn change(file: &mut Value, pointer: &str) {
    let value = file.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is in the file"));
    *value = match &*value {
        Value::String(text) => {
            let (front, last) = text.split_at(text.len() - 1);
            let digit = u8::from_str_radix(last, 16).expect("a digit");
            Value::from(format!("{front}{:x}", digit ^ 1))
        }
        Value::Number(number) => Value::from(number.as_u64().expect("not negative") + 1),
        other => panic!("{pointer} is {other}"),
    };
}

#[test]
fn a_changed_value_fails_its_own_check_and_no_other() {
    let changes = [
        ("/primitives/group/order", "primitives.group.order"),
        ("/primitives/group/p", "primitives.group.p"),
        ("/primitives/group/a", "primitives.group.a, at two points"),
        ("/primitives/group/b", "primitives.group.b"),
        ("/primitives/group/nid", "primitives.group.nid"),
        ("/primitives/group/generator", "primitives.group.generator"),
        ("/primitives/base_mul/7/point", "primitives.base_mul[7].point"),
        ("/primitives/base_mul/14/uncompressed", "primitives.base_mul[14].uncompressed"),
        ("/primitives/point_mul/2/out", "primitives.point_mul[2].out"),
        ("/primitives/kdf/6/aes_key", "primitives.kdf[6].aes_key"),
        ("/primitives/kdf/0/hashed", "primitives.kdf[0].hashed"),
        ("/primitives/labels/3/hb", "primitives.labels[3].hb"),
        ("/primitives/labels/3/htau", "primitives.labels[3].htau"),
        ("/primitives/aes_ctr/1/out", "primitives.aes_ctr[1].out"),
        ("/primitives/rho/2/out", "primitives.rho[2].out"),
        ("/primitives/mu/4/mac", "primitives.mu[4].mac"),
        ("/primitives/pad_body/1/out", "primitives.pad_body[1].out"),
        ("/primitives/unpad_body/4/out", "primitives.unpad_body[4].out"),
        ("/packets/3/alpha", "packets[3].alpha"),
        ("/packets/3/filler", "packets[3].filler"),
        ("/packets/3/wire_sha256", "packets[3].wire_sha256"),
        ("/packets/3/pack_message_sha256", "packets[3].pack_message_sha256"),
        ("/packets/3/hops/1/gamma", "packets[3].hops[1].gamma"),
        ("/packets/3/hops/2/beta", "packets[3].hops[2].beta"),
        ("/packets/3/secrets/0/b", "packets[3].secrets[0].b"),
        ("/packets/3/params/assoc_len", "packets[3].params.assoc_len"),
        ("/surbs/2/hops/0/beta_sha256", "surbs[2].hops[0].beta_sha256"),
        ("/surbs/2/keytuple/3", "surbs[2].keytuple[3]"),
        ("/surbs/2/nymtuple/gamma", "surbs[2].nymtuple.gamma"),
        ("/surbs/2/reply_body", "surbs[2].reply_body"),
        ("/surbs/2/message", "surbs[2].reply_body"),
        ("/negative/0/cases/1/result/hop", "negative[0].cases[1].result.hop"),
        ("/negative/1/cases/14/gamma", "negative[1].cases[14].gamma"),
        ("/negative/1/wire_cases/0/wire", "negative[1].wire_cases[0].reference_result, here"),
        ("/ultrix/primitives/cbc/1/dec", "ultrix.primitives.cbc[1].dec"),
        ("/ultrix/primitives/keystream/0/blocks/3", "ultrix.primitives.keystream[0].blocks[3]"),
        ("/ultrix/primitives/small_perm/0/inv", "ultrix.primitives.small_perm[0].inv"),
        ("/ultrix/packets/2/dest_key_enc", "ultrix.packets[2].dest_key_enc"),
        ("/ultrix/packets/8/hops/2/body_K", "ultrix.packets[8].hops[2].body_K"),
        ("/ultrix/packets/12/keytuple/1", "ultrix.packets[12].keytuple[1]"),
        ("/loopix/ucl/publics/Mix1", "loopix.ucl.publics.Mix1"),
        ("/loopix/ucl/packets/2/hops/4/out_sha256", "loopix.ucl.packets[2].hops[4].out_sha256"),
        ("/loopix/fork/packets/0/hops/3/tag", "loopix.fork.packets[0].hops[3].tag"),
        ("/loopix/fork/db_rows/Users/0/4/blob", "loopix.fork.db_rows.Users[0][4].blob"),
    ];
    let mut file = file();
    for (pointer, name) in changes {
        let kept = file.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is in the file")).clone();
        change(&mut file, pointer);
        let found = failures(&file);
        assert_eq!(found.first().map(String::as_str), Some(name), "{pointer}");
        // A changed message makes another reply, which its hops then see.
        if pointer != "/surbs/2/message" {
            assert_eq!(found, [name], "{pointer}");
        }
        *file.pointer_mut(pointer).expect("in the file") = kept;
    }
}

/// Where each of two values is computed from the other, both are named.
#[test]
fn a_changed_pair_fails_both_checks() {
    let changes = [
        ("/primitives/lioness/3/cipher", ["primitives.lioness[3].cipher", "primitives.lioness[3].plain"]),
        ("/petlib_pack/py3/11/packed", ["petlib_pack.py3[11].packed", "petlib_pack.py3[11].tree"]),
        (
            "/loopix/fork/key_files/Mix2/secretMixnode.prv",
            [
                "loopix.fork.key_files.Mix2.secretMixnode.prv",
                "loopix.fork.key_files.Mix2.secretMixnode.prv, read",
            ],
        ),
    ];
    for (pointer, names) in changes {
        let mut file = file();
        change(&mut file, pointer);
        assert_eq!(failures(&file), names, "{pointer}");
    }
}

#[test]
fn a_failure_says_what_was_expected_and_found() {
    let mut file = file();
    change(&mut file, "/packets/3/hops/1/gamma");
    let stated = file["packets"][3]["hops"][1]["gamma"].as_str().expect("hexadecimal").to_owned();
    let lines: Vec<_> = report(&file).failures().map(ToString::to_string).collect();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let begin = format!("packets[3].hops[1].gamma: expected {stated}, found {}", &stated[..31]);
    assert!(line.starts_with(&begin), "{line}");
}

#[test]
fn what_is_refused_on_purpose_is_what_the_table_says() {
    let mut file = file();
    for Refused { path, case } in refused(&file) {
        assert!(REFUSALS.iter().any(|refusal| refusal.case == case), "{case}");
        // Without its name it would be a difference.
        *file.pointer_mut(&format!("{path}/case")).expect("a case") = Value::from("another name");
        assert!(!failures(&file).is_empty(), "{case}");
        *file.pointer_mut(&format!("{path}/case")).expect("a case") = Value::from(case);
    }
    let found = refused(&file);
    for refusal in REFUSALS {
        assert!(found.iter().any(|found| found.case == refusal.case), "{}", refusal.case);
        assert!(!refusal.reason.is_empty());
    }
    // What is accepted here cannot be in the table.
    file["negative"][0]["wire_cases"][0]["case"] = json!("alpha sent uncompressed");
    assert_eq!(failures(&file), ["negative[0].wire_cases[0], refused on purpose"]);
}

struct Refused {
    path: String,
    case: String,
}

/// The cases that the reference accepts and that are not the unchanged packet.
fn refused(file: &Value) -> Vec<Refused> {
    let mut found = Vec::new();
    for (number, packet) in file["negative"].as_array().expect("packets").iter().enumerate() {
        for (kind, accepted, plain) in
            [("cases", "/result/stage", "unmodified"), ("wire_cases", "/reference_result", "plain")]
        {
            for (at, case) in packet[kind].as_array().expect("cases").iter().enumerate() {
                let name = case["case"].as_str().expect("a name");
                let verdict = case.pointer(accepted).and_then(Value::as_str).expect("a verdict");
                if ["delivered", "accepted"].contains(&verdict) && name != plain {
                    let path = format!("/negative/{number}/{kind}/{at}");
                    found.push(Refused { path, case: name.to_owned() });
                }
            }
        }
    }
    found
}

#[test]
fn what_is_missing_fails_and_what_is_unknown_is_skipped_by_name() {
    let nothing = check(br#"{"format":"loopix-wire-vectors/1"}"#).expect("the form");
    let names: Vec<_> = nothing.failures().map(ToString::to_string).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert!(names.contains(&"surbs: is missing".to_owned()), "{names:?}");
    assert_eq!(nothing.passed(), 0);

    let mut file = file();
    file["weather"] = json!({ "sky": "blue" });
    file["packets"][3]["hops"][1]["colour"] = json!("red");
    file["packets"][4].as_object_mut().expect("a packet").remove("filler");
    file["loopix"]["fork"]["packets"][0].as_object_mut().expect("a packet").remove("wire");
    let report = report(&file);
    assert_eq!(report.skipped().collect::<Vec<_>>(), ["packets[3].hops[1].colour", "weather"]);
    let names: Vec<_> = report.failures().map(ToString::to_string).collect();
    assert_eq!(names, ["packets[4].filler: is missing", "loopix.fork.packets[0].wire: is missing"]);
}

#[test]
fn a_file_of_another_form_is_refused_in_one_line() {
    let deep = "[".repeat(100_000);
    for (file, line) in [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        (deep.as_str(), "not JSON: recursion limit exceeded at line 1 column 128"),
        ("[]", "`format` has to be \"loopix-wire-vectors/1\"; it is missing"),
        ("{}", "`format` has to be \"loopix-wire-vectors/1\"; it is missing"),
        (r#"{"format":"x/9"}"#, "`format` has to be \"loopix-wire-vectors/1\"; it is \"x/9\""),
    ] {
        let error: NotVectors = check(file.as_bytes()).expect_err(line);
        assert_eq!(error.to_string(), line);
    }
}

/// The file with three values of each list, so that it is checked often.
fn short(value: Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.into_iter().take(3).map(short).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key, short(value))).collect())
        }
        other => other,
    }
}

/// Every value, by its path.
fn paths(path: &str, value: &Value, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| paths(&format!("{path}/{at}"), value, found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| paths(&format!("{path}/{key}"), value, found));
        }
        _ => {}
    }
}

/// What somebody could put in place of a value.
fn hostile() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        json!(0),
        json!(-1),
        json!(1),
        json!(31),
        json!(u64::MAX),
        json!(1e300),
        json!(true),
        json!(""),
        json!("0"),
        json!("zz"),
        json!("00"),
        json!("ff".repeat(16)),
        json!("00".repeat(28)),
        json!("ff".repeat(28)),
        json!("00".repeat(4096)),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({ "arr": [{ "bin": "f1" }] }),
        json!({ "ext": 2, "data": "" }),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_stands_in_the_file_nothing_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), hostile()), 1..4),
    ) {
        let mut file = short(file());
        for (index, value) in changes {
            let mut found = Vec::new();
            paths("", &file, &mut found);
            let path = index.get(&found);
            if path != "/format" && !path.is_empty() {
                *file.pointer_mut(path).expect("a path of the file") = value;
            }
        }
        let report = report(&file);
        for failure in report.failures() {
            prop_assert!(!failure.to_string().contains('\n'), "{}", failure);
        }
    }
}
