//! The exchanges of RFC 9176 (`vectors/resource-directory.json`).

use motemix_broker::directory::{self, Outcome, own_links};
use motemix_coap::link_format::{Link, emit, parse};
use motemix_coap::{Code, Response, format};
use serde_json::Value;

use crate::desk::{Town, at, request};

fn list(value: &Value) -> &[Value] {
    let list = value.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

/// Links whose order says nothing.
fn links(text: &str) -> Vec<Link> {
    let mut links = parse(text, 100).unwrap();
    for link in &mut links {
        link.attributes.sort();
    }
    links.sort_by_key(ToString::to_string);
    links
}

#[test]
fn the_exchanges_of_the_rfc_go_as_it_says() {
    let path = format!("{}/../../vectors/resource-directory.json", env!("CARGO_MANIFEST_DIR"));
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for story in list(&vectors["stories"]) {
        let (mut town, mut places) = (Town::new(), Vec::new());
        for step in list(&story["steps"]) {
            let text = |name: &str| step[name].as_str();
            let place = |places: &[String], text: &str| {
                let text = text.replace("{location}", places.last().map_or("", |last| last));
                places
                    .iter()
                    .enumerate()
                    .fold(text, |text, (at, place)| text.replace(&format!("{{location{at}}}"), place))
            };
            let line = place(&places, text("request").unwrap());
            let asked = request(&line, text("payload").unwrap_or_default());
            let caller = at(text("from").unwrap_or("[2001:db8::99]:5683"));
            let response = match text("fetched") {
                None => town.ask(&caller, &asked),
                Some(fetched) => {
                    let answer = Response::content(Code::CONTENT, format::LINK_FORMAT, fetched.as_bytes());
                    let outcome = directory::handle(town.desk(), &caller, &asked).unwrap().unwrap();
                    let Outcome::Fetch(fetch) = outcome else { panic!("nothing to fetch: {outcome:?}") };
                    let done = directory::fetched(town.desk(), &fetch.registrant, Some(&answer)).unwrap();
                    let Outcome::Done { changes, response } = done else { panic!("{done:?}") };
                    for change in changes {
                        town.state.apply(change);
                    }
                    response
                }
            };
            let payload = std::str::from_utf8(&response.payload).unwrap();
            assert_eq!(response.code.to_string(), text("code").unwrap(), "{step}: {payload}");
            if let Some(answer) = text("answer") {
                assert_eq!(links(payload), links(&place(&places, answer)), "{step}");
            }
            if response.code == Code::CREATED {
                places.push(format!("/{}", response.location_path.join("/")));
            }
        }
    }
}

#[test]
fn a_client_discovers_the_directory() {
    // RFC 9176, 4.3; look-ups can be observed as well.
    assert_eq!(
        emit(&own_links()),
        "</rd>;rt=core.rd;ct=40,</rd-lookup/ep>;rt=core.rd-lookup-ep;ct=40;obs,\
         </rd-lookup/res>;rt=core.rd-lookup-res;ct=40;obs"
    );
}
