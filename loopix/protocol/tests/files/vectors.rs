//! The files that the originals wrote, from `vectors/sphinxmix.json`.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// The two versions of the originals.
pub const VARIANTS: [&str; 2] = ["ucl", "fork"];

pub fn variant(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sphinxmix.json");
    let text = fs::read_to_string(path).expect("the vectors");
    let mut vectors: Value = serde_json::from_str(&text).expect("JSON");
    vectors["loopix"][name].take()
}

/// Every key file: node, name of the file, bytes.
pub fn key_files(variant: &Value) -> Vec<(String, String, Vec<u8>)> {
    let mut files = Vec::new();
    for (node, of_node) in variant["key_files"].as_object().expect("nodes") {
        for (file, bytes) in of_node.as_object().expect("files") {
            files.push((node.clone(), file.clone(), bytes_of(bytes)));
        }
    }
    assert!(files.len() >= 20, "{}", files.len());
    files
}

pub fn bytes_of(hex: &Value) -> Vec<u8> {
    hex::decode(hex.as_str().expect("hex")).expect("hex")
}

/// The rows of a table, without their ids.
pub fn rows<'v>(variant: &'v Value, table: &str) -> Vec<&'v [Value]> {
    let rows = variant["db_rows"][table].as_array().expect("rows");
    rows.iter().map(|row| &row.as_array().expect("a row")[1..]).collect()
}
