//! What applications find.

use motemix_broker::directory::{Kind, Refusal, look_up};
use proptest::prelude::*;

use crate::desk::{Town, at, request};

fn building() -> (Town, String, String) {
    let mut town = Town::new();
    let lamp = "POST /rd?ep=lamp&d=hall&et=oic.d.light&et=x&base=coap://lamp.example";
    let lamp =
        town.registered(&at("192.0.2.1:5683"), &request(lamp, "</on>;rt=\"switch light\";if=actuator"));
    let temp = request("POST /rd?ep=temp&d=attic", "</t>;rt=temperature;if=sensor;obs,</%74/about>;rt=info");
    let temp = town.registered(&at("[2001:db8::2]:61616"), &temp);
    (town, lamp, temp)
}

#[test]
fn criteria_match_links_and_what_their_endpoints_have() {
    let (mut town, lamp, temp) = building();
    let (on, t) = ("<coap://lamp.example/on>;rt=\"switch light\";if=actuator", "<coap://[2001:db8::2]:61616");
    let (about, t) = (format!("{t}/%74/about>;rt=info"), format!("{t}/t>;rt=temperature;if=sensor;obs"));
    let both = format!("{t},{about}");
    for (query, found) in [
        ("rt=light", on),
        ("rt=sw*", on),
        ("et=x", on),
        ("et=oic.*", on),
        ("ep=temp", &both),
        ("d=attic", &both),
        ("d=attic&rt=temperature", &t),
        ("rt=temperature&d=hall", ""),
        ("obs", &t),
        ("base=coap://lamp.example", on),
        ("base=coap://*&rt=info", &about),
        ("href=coap://lamp.example/on", on),
        ("href=coap://lamp.*", on),
        ("href=coap://[2001:db8::2]:61616/t/about", &about),
        // A reference is no target of a resource.
        ("href=/on", ""),
        (&format!("href={lamp}"), on),
        (&format!("href={temp}&if=sensor"), &t),
        ("ep=nobody", ""),
    ] {
        assert_eq!(town.found(&format!("/rd-lookup/res?{query}")), found, "{query}");
    }
}

#[test]
fn endpoints_match_what_their_links_have() {
    let (mut town, lamp, temp) = building();
    let lamp = format!("<{lamp}>;base=coap://lamp.example;ep=lamp;d=hall;et=oic.d.light;et=x;rt=core.rd-ep");
    let temp = format!("<{temp}>;base=coap://[2001:db8::2]:61616;ep=temp;d=attic;rt=core.rd-ep");
    for (query, found) in [
        ("rt=switch", &*lamp),
        // Two links of one endpoint, each with one of both.
        ("rt=info&if=sensor", &temp),
        ("rt=info&if=actuator", ""),
        ("et=x&rt=core.rd-ep", &lamp),
        ("href=coap://lamp.example/on", &lamp),
        // The lifetime is not shown.
        ("lt=90000", ""),
    ] {
        assert_eq!(town.found(&format!("/rd-lookup/ep?{query}")), found, "{query}");
    }
    let all = town.found("/rd-lookup/ep?rt=core.rd-ep");
    assert_eq!(all.len(), lamp.len() + 1 + temp.len());
}

#[test]
fn anchors_are_resolved_and_asked_for_as_uris() {
    let mut town = Town::new();
    let links = "<http://www.example.com/t123>;anchor=\"/t\";rel=describedby,</u>";
    town.registered(&at("192.0.2.1:5683"), &request("POST /rd?ep=a", links));
    let found = "<http://www.example.com/t123>;anchor=\"coap://192.0.2.1/t\";rel=describedby";
    assert_eq!(town.found("/rd-lookup/res?anchor=coap://192.0.2.1/t"), found);
    assert_eq!(town.found("/rd-lookup/res?rel=describedby"), found);
    assert_eq!(town.found("/rd-lookup/res?anchor=/t"), "");
}

#[test]
fn malformed_pages_are_refused() {
    let mut town = Town::new();
    for query in ["page=0", "count=x", "count=", "count=-1", "count=+1", "page=1&count=1&count=2"] {
        let line = format!("GET /rd-lookup/ep?{query}");
        town.refuses(&at("192.0.2.1:5683"), &request(&line, ""), "4.00", Refusal::Malformed);
    }
}

proptest! {
    /// Pages are the answer in parts, whatever their size.
    #[test]
    fn pages_are_the_answer_in_parts(counts in proptest::collection::vec(0_usize..5, 0..6), size in 1_usize..7) {
        let mut town = Town::new();
        for (name, count) in counts.iter().enumerate() {
            let links: Vec<_> = (0..*count).map(|at| format!("</{at}>")).collect();
            town.registered(&at("192.0.2.1:5683"), &request(&format!("POST /rd?ep={name}"), &links.join(",")));
        }
        let ask = |query: &[String]| look_up(&town.state, town.now, Kind::Resources, query, 1 << 20).unwrap();
        let pages = 0..counts.iter().sum::<usize>().div_ceil(size);
        let pages: Vec<_> = pages.map(|page| ask(&[format!("page={page}"), format!("count={size}")])).collect();
        prop_assert_eq!(pages.join(","), ask(&[]));
    }

    /// No query makes a look-up panic.
    #[test]
    fn any_query_is_answered_or_refused(query in proptest::collection::vec("[a-z=*&%/ ]{0,12}", 0..4)) {
        let (town, ..) = building();
        for kind in [Kind::Endpoints, Kind::Resources] {
            let _ = look_up(&town.state, town.now, kind, &query, 1000);
        }
    }
}

#[test]
fn a_link_that_says_whose_it_is_is_not_found_in_place_of_that_endpoint() {
    let (mut town, ..) = building();
    let lie = "</lie>;ep=lamp;d=hall;base=\"coap://lamp.example\";rt=lie";
    town.registered(&at("192.0.2.66:5683"), &request("POST /rd?ep=a-liar", lie));
    for query in ["ep=lamp", "d=hall", "base=coap://lamp.example", "ep=la*"] {
        for kind in ["res", "ep"] {
            let found = town.found(&format!("/rd-lookup/{kind}?{query}"));
            assert!(!found.contains("liar") && !found.contains("/lie"), "{kind} {query}: {found}");
            assert!(found.contains("lamp"), "{kind} {query}: {found}");
        }
    }
    // It is found as what it is.
    assert!(town.found("/rd-lookup/res?ep=a-liar").contains("/lie"));
}

#[test]
fn a_look_up_compares_with_sixteen_values_at_most() {
    let (mut town, ..) = building();
    let of = |count| format!("/rd-lookup/res?{}", vec!["ep=lamp"; count].join("&"));
    assert!(town.found(&of(16)).contains("lamp"));
    let from = at("192.0.2.66:5683");
    let text = town.refuses(&from, &request(&format!("GET {}", of(17)), ""), "4.00", Refusal::Malformed);
    assert_eq!(text, "a look-up has at most 16 parameters; look for less");
}

#[test]
fn a_look_up_of_too_much_work_is_refused_at_once_and_says_what_to_ask_for() {
    let mut town = Town::new();
    let from = at("192.0.2.66:5683");
    let of_100_bytes = "x".repeat(100);
    let links = (0..64).map(|link| format!("</{link}>;if=\"{of_100_bytes}\"")).collect::<Vec<_>>().join(",");
    for number in 0..220 {
        let line = format!("POST /rd?ep=stranger-{number}&base=coap://[2001:db8::1]");
        town.registered(&from, &request(&line, &links));
    }
    let of = |more: &str| {
        let targets = (0..15).map(|start| format!("href=coap://[2001:db8::1]/{start}*"));
        format!("/rd-lookup/res?{}&{more}", targets.collect::<Vec<_>>().join("&"))
    };
    let text = town.refuses(&from, &request(&format!("GET {}", of("rt=x")), ""), "4.00", Refusal::Long);
    assert!(text.ends_with("ask for less, or name one with ep="), "{text}");
    // What it says helps, and who asks for one thing finds it.
    assert_eq!(town.found(&of("ep=stranger-7")), "");
    assert!(town.found("/rd-lookup/res?href=coap://[2001:db8::1]/7*&count=1").contains("/7>"));
}
