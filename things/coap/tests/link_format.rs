//! The examples of RFC 6690 and RFC 9176, and what devices send (`vectors/link-format.json`).

use motemix_coap::link_format::{Filter, Link, emit, parse, parse_lenient};
use serde_json::Value;

fn vectors() -> Value {
    let path = format!("{}/../../vectors/link-format.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    let list = value.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

fn link(value: &Value) -> Link {
    let link = Link::new(value["target"].as_str().unwrap());
    list(&value["attributes"]).iter().fold(link, |link, attribute| {
        let name = attribute[0].as_str().unwrap();
        match attribute[1].as_str() {
            Some(value) => link.with(name, value),
            None => link.with_flag(name),
        }
    })
}

#[test]
fn the_examples_of_the_rfcs_are_read_and_written() {
    for document in list(&vectors()["documents"]) {
        let (source, text) = (&document["source"], document["text"].as_str().unwrap());
        let links: Vec<_> = list(&document["links"]).iter().map(link).collect();
        assert_eq!(parse(text, 10).as_ref(), Ok(&links), "{source}");
        assert_eq!(parse(&emit(&links), 10), Ok(links), "{source}");
    }
}

#[test]
fn the_queries_of_the_rfc_find_what_it_says() {
    let vectors = vectors();
    let documents = list(&vectors["documents"]);
    for query in list(&vectors["queries"]) {
        let document = &documents[usize::try_from(query["document"].as_u64().unwrap()).unwrap()];
        let links = parse(document["text"].as_str().unwrap(), 10).unwrap();
        let filter = Filter::of_parameter(query["query"].as_str().unwrap());
        let found = links.iter().enumerate().filter(|(_, link)| filter.matches(link));
        let expected = list(&query["links"]).iter().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
        assert!(found.map(|(at, _)| at).eq(expected), "{query}");
    }
}

#[test]
fn what_devices_send_is_read() {
    for device in list(&vectors()["devices"]) {
        let (source, text) = (&device["source"], device["text"].as_str().unwrap());
        let reading = parse_lenient(text, 64).unwrap();
        assert_eq!(emit(&reading.links), device["means"].as_str().unwrap(), "{source}");
    }
}
