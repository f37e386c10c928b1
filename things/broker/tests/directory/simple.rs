//! Simple registrations: the directory fetches the links (RFC 9176 §5.1).

use motemix_broker::directory::{self, Fetch, Outcome, Refusal, Refused};
use motemix_broker::{Caller, State};
use motemix_coap::{Code, Method, Peer, Request, Response, format};

use crate::desk::{Town, at, mote, request};

const HOME: &str = "[2001:db8::17]:61616";

fn begun(town: &Town, caller: &Caller, line: &str) -> Fetch {
    let outcome = directory::handle(town.desk(), caller, &request(line, "")).unwrap();
    let Ok(Outcome::Fetch(fetch)) = outcome else { panic!("{outcome:?}") };
    *fetch
}

fn ended(town: &mut Town, fetch: &Fetch, response: Option<&Response>) -> Result<Response, Refused> {
    match directory::fetched(town.desk(), &fetch.registrant, response)? {
        Outcome::Done { changes, response } => {
            for change in changes {
                town.state.apply(change);
            }
            Ok(response)
        }
        Outcome::Fetch(_) => panic!("twice"),
    }
}

fn links(text: &str) -> Response {
    Response::content(Code::CONTENT, format::LINK_FORMAT, text.as_bytes())
}

#[test]
fn the_one_who_asked_is_asked_for_its_links_and_nobody_else() {
    let mut town = Town::new();
    let fetch = begun(&town, &at(HOME), "POST /.well-known/rd?ep=a&lt=60&et=x");
    let mut asked = Request::new(Method::Get, &[".well-known", "core"]);
    asked.accept = Some(format::LINK_FORMAT);
    assert_eq!((fetch.to, &fetch.request), (HOME.parse().unwrap(), &asked));
    // Nothing is registered until they are there.
    assert_eq!(town.state, State::default());
    assert_eq!(ended(&mut town, &fetch, Some(&links("</t>"))).unwrap(), Response::new(Code::CHANGED));
    assert_eq!(town.found("/rd-lookup/res?et=x"), "<coap://[2001:db8::17]:61616/t>");
    town.wait(60);
    assert_eq!(town.found("/rd-lookup/res"), "");
}

#[test]
fn who_does_not_answer_with_links_is_not_registered() {
    let mut town = Town::new();
    let fetch = begun(&town, &at(HOME), "POST /.well-known/rd?ep=a");
    for response in [
        None,
        Some(Response::new(Code::NOT_FOUND)),
        Some(Response::content(Code::CONTENT, format::TEXT, &b"</t>"[..])),
        Some(links("t")),
        Some(links("</t>;key=AAAA")),
        Some(links(&"</t>,".repeat(100))),
    ] {
        let refused = ended(&mut town, &fetch, response.as_ref()).unwrap_err();
        assert!(!refused.code.is_success());
        assert_eq!(town.state, State::default());
    }
    let response = ended(&mut town, &fetch, Some(&links("<t>, </ok>"))).unwrap();
    assert!(response.code == Code::CHANGED && response.payload.starts_with(b"1 of 2 links left out"));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::17]:61616/ok>");
}

#[test]
fn a_request_that_cannot_succeed_asks_nobody() {
    let mut town = Town::new();
    town.registered(&at("192.0.2.1:5683"), &request("POST /rd?ep=taken", "</t>"));
    for (line, payload, code, why) in [
        ("", "", "4.00", Refusal::Malformed),
        ("?ep=a&base=coap://victim", "", "4.00", Refusal::Malformed),
        ("?ep=a&proof=AA", "", "4.00", Refusal::Malformed),
        ("?ep=a", "</t>", "4.00", Refusal::Malformed),
        ("?ep=taken", "", "4.03", Refusal::Foreign),
    ] {
        let line = format!("POST /.well-known/rd{line}");
        town.refuses(&at(HOME), &request(&line, payload), code, why);
    }
    let line = request("POST /.well-known/rd?ep=a", "");
    let connected = Caller { peer: Peer::Stream(1), ..at(HOME) };
    town.refuses(&connected, &line, "4.00", Refusal::Malformed);
    town.refuses(&at("[fe80::1]:5683"), &line, "4.00", Refusal::Malformed);
    town.settings.registrations = 1;
    town.refuses(&at(HOME), &line, "5.03", Refusal::Full);
    town.settings.simple = false;
    town.refuses(&at(HOME), &line, "4.03", Refusal::Forbidden);
}

#[test]
fn who_comes_while_the_links_are_fetched_is_first() {
    let mut town = Town::new();
    let fetch = begun(&town, &at(HOME), "POST /.well-known/rd?ep=a");
    town.registered(&at("192.0.2.1:5683"), &request("POST /rd?ep=a", "</first>"));
    let refused = ended(&mut town, &fetch, Some(&links("</t>"))).unwrap_err();
    assert_eq!((refused.why, refused.code), (Refusal::Foreign, Code::FORBIDDEN));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://192.0.2.1/first>");
}

#[test]
fn a_key_that_was_fetched_is_taken_from_its_proven_holder_alone() {
    let (mut town, device) = (Town::new(), mote(1));
    let answer = links(&device.links());
    let fetch = begun(&town, &at(HOME), "POST /.well-known/rd?ep=a");
    assert_eq!(ended(&mut town, &fetch, Some(&answer)).unwrap_err().why, Refusal::Unproven);
    // Twice: it renews what it has.
    for _ in 0..2 {
        let fetch = begun(&town, &device.proven(HOME), "POST /.well-known/rd?ep=a");
        assert_eq!(ended(&mut town, &fetch, Some(&answer)).unwrap().code, Code::CHANGED);
    }
    assert_eq!(town.state.registrations().next().unwrap().1.device, Some(device.identity));
}

#[test]
fn a_listed_device_is_asked_for_its_links_in_a_directory_that_is_full() {
    let (mut town, device) = (Town::with(|settings| settings.registrations = 1), mote(1));
    town.registered(&at("192.0.2.1:5683"), &request("POST /rd?ep=stranger", "</t>"));
    let line = "POST /.well-known/rd?ep=a";
    town.refuses(&device.proven(HOME), &request(line, ""), "5.03", Refusal::Full);
    town.settings.devices = Some([device.identity].into());
    // What it answers with has to have its key.
    let fetch = begun(&town, &device.proven(HOME), line);
    assert_eq!(ended(&mut town, &fetch, Some(&links("</t>"))).unwrap_err().why, Refusal::Full);
    let fetch = begun(&town, &device.proven(HOME), line);
    assert_eq!(ended(&mut town, &fetch, Some(&links(&device.links()))).unwrap().code, Code::CHANGED);
}
