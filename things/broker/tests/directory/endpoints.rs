//! Endpoints without keys, as RFC 9176 has them.

use motemix_broker::Caller;
use motemix_broker::directory::{Refusal, expire, next_expiry};
use motemix_coap::{Code, Peer, format};

use crate::desk::{Town, at, request};

const HOME: &str = "[2001:db8::1]:5683";

#[test]
fn who_registers_again_is_at_the_same_place_with_his_new_links() {
    let mut town = Town::new();
    let first = town.registered(&at(HOME), &request("POST /rd?ep=a&et=x", "</old>,</older>"));
    town.wait(100);
    let second = town.registered(&at(HOME), &request("POST /rd?ep=a&et=y", "</new>"));
    assert_eq!(first, second);
    assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::1]/new>");
    let link = format!("<{first}>;base=coap://[2001:db8::1];ep=a;et=y;rt=core.rd-ep");
    assert_eq!(town.found("/rd-lookup/ep"), link);
    // The same name in another sector is somebody else.
    let other = town.registered(&at(HOME), &request("POST /rd?ep=a&d=hall", "</x>"));
    assert_ne!(first, other);
    assert_eq!(town.found("/rd-lookup/res?d=hall"), "<coap://[2001:db8::1]/x>");
}

#[test]
fn the_base_is_where_the_request_came_from_unless_it_says_otherwise() {
    for (from, base) in [
        ("192.0.2.7:5683", "coap://192.0.2.7"),
        ("192.0.2.7:40000", "coap://192.0.2.7:40000"),
        ("[2001:db8::7]:5683", "coap://[2001:db8::7]"),
        ("[2001:db8::7]:61616", "coap://[2001:db8::7]:61616"),
        // A socket for both families shows IPv4 like this.
        ("[::ffff:192.0.2.7]:5683", "coap://192.0.2.7"),
    ] {
        let mut town = Town::new();
        town.registered(&at(from), &request("POST /rd?ep=a", "</t>"));
        assert_eq!(town.found("/rd-lookup/res"), format!("<{base}/t>"), "{from}");
    }
}

#[test]
fn addresses_that_lead_others_nowhere_are_no_base() {
    let mut town = Town::new();
    for from in ["[fe80::1]:5683", "169.254.1.1:5683", "[::]:1", "[ff02::1]:5683"] {
        town.refuses(&at(from), &request("POST /rd?ep=a", "</t>"), "4.00", Refusal::Malformed);
    }
    for base in [
        "coap://[fe80::1]",
        "coap://[fe80::1%25eth0]",
        "coap://169.254.1.1",
        "coap://[ff02::fd]",
        "coap://0.0.0.0",
        "coap://[::ffff:169.254.1.1]",
        "coap://u@h",
        "coap://",
        "coap://:5683",
        "coap://h:x",
        "coap://h:70000",
        "coap://h:1:2",
        "coap://[::1",
        "coap://[::1]x",
        "coap://h?q",
        "coap://h#f",
        "coap://h/>;ep=b",
        "/rel",
        "",
    ] {
        let line = format!("POST /rd?ep=a&base={base}");
        town.refuses(&at(HOME), &request(&line, "</t>"), "4.00", Refusal::Malformed);
    }
    // Somebody on a connection has no address that others reach him at.
    let caller = Caller { peer: Peer::Stream(7), connected: Some([192, 0, 2, 1].into()), ..at(HOME) };
    town.refuses(&caller, &request("POST /rd?ep=a", "</t>"), "4.00", Refusal::Malformed);
    town.registered(
        &caller,
        &request("POST /rd?ep=a&base=coap%2Btcp://h".replace("%2B", "+").as_str(), "</t>"),
    );
    assert_eq!(town.found("/rd-lookup/res"), "<coap+tcp://h/t>");
}

#[test]
fn an_update_moves_a_base_that_nobody_stated() {
    let mut town = Town::new();
    let place = town.registered(&at("192.0.2.7:5683"), &request("POST /rd?ep=a", "</t>"));
    town.ask(&at("192.0.2.7:777"), &request(&format!("POST {place}"), ""));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://192.0.2.7:777/t>");
    town.ask(&at("192.0.2.7:777"), &request(&format!("POST {place}?base=coap://a.example"), ""));
    town.ask(&at("192.0.2.7:888"), &request(&format!("POST {place}"), ""));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://a.example/t>");
}

#[test]
fn a_registration_ends_with_its_lifetime_unless_it_is_renewed() {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a&lt=60", "</t>"));
    assert_eq!(next_expiry(&town.state), Some(town.now.plus_secs(60)));
    town.wait(59);
    town.ask(&at(HOME), &request(&format!("POST {place}"), ""));
    town.wait(59);
    assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::1]/t>");
    town.wait(1);
    // Gone for whoever looks, before anybody has tidied up.
    assert_eq!((town.found("/rd-lookup/res"), town.found("/rd-lookup/ep")), (String::new(), String::new()));
    town.refuses(&at(HOME), &request(&format!("POST {place}"), ""), "4.04", Refusal::Absent);
    // The name is free, and somebody else may take it.
    let changes = expire(&town.state, town.now);
    assert_eq!(changes.len(), 1);
    for change in changes {
        town.state.apply(change);
    }
    assert_eq!((town.state.registrations().len(), next_expiry(&town.state)), (0, None));
    town.registered(&at("192.0.2.1:5683"), &request("POST /rd?ep=a", "</mine>"));
}

#[test]
fn without_a_lifetime_it_is_25_hours_and_an_update_may_change_it() {
    let mut town = Town::with(|settings| settings.keyless_lifetime = u32::MAX);
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a", "</t>"));
    assert_eq!(next_expiry(&town.state), Some(town.now.plus_secs(90_000)));
    town.ask(&at(HOME), &request(&format!("POST {place}?lt=4294967295"), ""));
    assert_eq!(next_expiry(&town.state), Some(town.now.plus_secs(4_294_967_295)));
}

#[test]
fn an_update_overrides_attributes_of_the_same_name() {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a&et=x&et=y&size=2", "</t>"));
    town.ask(&at(HOME), &request(&format!("POST {place}?et=z&flag"), ""));
    let link = format!("<{place}>;base=coap://[2001:db8::1];ep=a;size=2;et=z;flag;rt=core.rd-ep");
    assert_eq!(town.found("/rd-lookup/ep"), link);
    let many = (0..16).fold(String::new(), |text, at| text + &format!("&a{at}=1"));
    let update = format!("POST {place}?x=1{many}");
    town.refuses(&at(HOME), &request(&update, ""), "4.00", Refusal::Malformed);
}

#[test]
fn a_registration_is_read_as_it_was_made() {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a", "</t>;title=\"a, b\""));
    assert_eq!(town.found(&place), "</t>;title=\"a, b\"");
    let mut cbor = request(&format!("GET {place}"), "");
    cbor.accept = Some(format::CBOR);
    town.refuses(&at(HOME), &cbor, "4.06", Refusal::Malformed);
}

#[test]
fn other_methods_are_refused() {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a", "</t>"));
    for line in [
        format!("PUT {place}"),
        format!("PATCH {place}"),
        format!("iPATCH {place}"),
        format!("FETCH {place}"),
        "GET /rd".to_owned(),
        "PUT /rd".to_owned(),
        "POST /rd-lookup/ep".to_owned(),
        "DELETE /rd-lookup/res".to_owned(),
        "GET /.well-known/rd".to_owned(),
    ] {
        town.refuses(&at(HOME), &request(&line, ""), "4.05", Refusal::Malformed);
    }
}

#[test]
fn a_malformed_registration_is_told_what_is_wrong() {
    let mut town = Town::new();
    let long = "n".repeat(64);
    let many = (0..17).fold(String::new(), |text, at| text + &format!("&a{at}=1"));
    for line in [
        String::new(),
        "ep=".to_owned(),
        "ep".to_owned(),
        format!("ep={long}"),
        "ep=a\tb".to_owned(),
        "ep=a\u{85}b".to_owned(),
        "ep=a&ep=b".to_owned(),
        "ep=a&d=".to_owned(),
        "ep=a&lt=0".to_owned(),
        "ep=a&lt=4294967296".to_owned(),
        "ep=a&lt=+60".to_owned(),
        "ep=a&lt=".to_owned(),
        "ep=a&lt".to_owned(),
        "ep=a&lt=1&lt=2".to_owned(),
        // Attributes that would pass for those of look-ups, or break a link.
        "ep=a&rt=core.rd-ep".to_owned(),
        "ep=a&href=/x".to_owned(),
        "ep=a&page=1".to_owned(),
        "ep=a&a b=1".to_owned(),
        "ep=a&a;b=1".to_owned(),
        "ep=a&=1".to_owned(),
        "ep=a&x=1\n2".to_owned(),
        "ep=a&x*".to_owned(),
        format!("ep=a{many}"),
    ] {
        let line = format!("POST /rd?{line}");
        let text = town.refuses(&at(HOME), &request(&line, "</t>"), "4.00", Refusal::Malformed);
        assert!(!text.is_empty());
    }
    // No link of it is one.
    let text = town.refuses(&at(HOME), &request("POST /rd?ep=a", "t"), "4.00", Refusal::Format);
    assert_eq!(text, "link format, byte 0: a link begins with <");
    for format in [None, Some(format::CBOR)] {
        let mut other = request("POST /rd?ep=a", "</t>");
        other.content_format = format;
        town.refuses(&at(HOME), &other, "4.15", Refusal::Format);
    }
}

/// One link that nobody understands does not keep a device out, and it is told which one it is.
#[test]
fn a_bad_link_is_left_out_and_told_and_the_others_are_registered() {
    for (payload, said) in [
        (
            "</ok>,<t>",
            "1 of 2 links left out: <t>: a link's target and anchor are URIs, or begin with one slash",
        ),
        (
            "<//h/t>,</ok>",
            "1 of 2 links left out: <//h/t>: a link's target and anchor are URIs, or begin with one slash",
        ),
        (
            "</t>;anchor=\"\",</ok>",
            "1 of 2 links left out: <>: a link's target and anchor are URIs, or begin with one slash",
        ),
        (
            "</ok>,</a b>",
            "1 of 2 links left out: link format, byte 9: no URI has this character; percent-encode it",
        ),
    ] {
        let mut town = Town::new();
        let (code, text) = town.said(&at(HOME), &request("POST /rd?ep=a", payload));
        assert_eq!((&*code, &*text), ("2.01", said));
        assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::1]/ok>");
    }
    // Titles in Latin-1.
    let mut town = Town::new();
    let mut latin = request("POST /rd?ep=a", "</t>;title=\"x\"");
    latin.payload[12] = 0xb0;
    assert_eq!(town.said(&at(HOME), &latin), ("2.01".to_owned(), String::new()));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::1]/t>;title=\"\u{fffd}\"");
    // What is said is short, whatever the device wrote.
    let long = format!("<{}>,</ok>", "t".repeat(2000));
    let (code, text) = town.said(&at(HOME), &request("POST /rd?ep=a", &long));
    assert!(code == "2.01" && text.len() < 200, "{text}");
}

/// `vectors/link-format.json`
#[test]
fn what_real_devices_send_is_registered() {
    let path = format!("{}/../../vectors/link-format.json", env!("CARGO_MANIFEST_DIR"));
    let vectors: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for device in vectors["devices"].as_array().unwrap() {
        let (mut town, text) = (Town::new(), device["text"].as_str().unwrap());
        let response = town.ask(&at(HOME), &request("POST /rd?ep=a&lt=86400&lwm2m=1.0&b=U", text));
        assert_eq!(response.code, Code::CREATED, "{device}");
        let said = String::from_utf8(response.payload.to_vec()).unwrap();
        let place = format!("/{}", response.location_path.join("/"));
        assert_eq!(town.found(&place), device["registered"].as_str().unwrap());
        let left_out = device["left_out"].as_u64().unwrap();
        assert!(
            if left_out == 0 { said.is_empty() } else { said.starts_with(&left_out.to_string()) },
            "{said}"
        );
    }
}

#[test]
fn an_update_changes_no_name_and_its_links_take_the_place_of_those_before() {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &request("POST /rd?ep=a", "</t>"));
    for query in ["?ep=b", "?d=x"] {
        let update = request(&format!("POST {place}{query}"), "");
        town.refuses(&at(HOME), &update, "4.00", Refusal::Malformed);
    }
    // As devices of LwM2M tell of new objects.
    town.wait(100);
    let update = request(&format!("POST {place}?lt=300"), "</3/0>, </5/0>,<//15001>");
    let (code, text) = town.said(&at(HOME), &update);
    assert!(code == "2.04" && text.starts_with("1 of 3 links left out"), "{text}");
    assert_eq!(town.found(&place), "</3/0>,</5/0>");
    assert_eq!(next_expiry(&town.state), Some(town.now.plus_secs(300)));
    // Without any it leaves them.
    assert_eq!(town.said(&at(HOME), &request(&format!("POST {place}"), "")).0, "2.04");
    assert_eq!(town.found(&place), "</3/0>,</5/0>");
    let mut cbor = request(&format!("POST {place}"), "</t>");
    cbor.content_format = Some(format::CBOR);
    town.refuses(&at(HOME), &cbor, "4.15", Refusal::Format);
    town.refuses(&at("192.0.2.8:5683"), &update, "4.03", Refusal::Foreign);
}

/// Devices change the second half of their address every day (RFC 8981).
#[test]
fn whoever_registered_may_have_another_address_of_its_network() {
    let mut town = Town::new();
    let place = town.registered(&at("[2001:db8::1]:5683"), &request("POST /rd?ep=a", "</t>"));
    let update = request(&format!("POST {place}"), "");
    assert_eq!(town.said(&at("[2001:db8::abcd:2]:5683"), &update).0, "2.04");
    assert_eq!(town.found("/rd-lookup/res"), "<coap://[2001:db8::abcd:2]/t>");
    town.refuses(&at("[2001:db8:0:1::1]:5683"), &update, "4.03", Refusal::Foreign);
}

/// First come, first served: the address is all that there is to know of somebody without a key.
/// Others can forge it, as `docs/spec/resource-directory.md` says.
#[test]
fn without_a_key_only_the_address_that_registered_changes_it() {
    let mut town = Town::new();
    let place = town.registered(&at("192.0.2.7:5683"), &request("POST /rd?ep=a", "</t>"));
    let stranger = at("192.0.2.8:5683");
    for line in ["POST /rd?ep=a".to_owned(), format!("POST {place}?lt=1"), format!("DELETE {place}")] {
        town.refuses(&stranger, &request(&line, ""), "4.03", Refusal::Foreign);
    }
    assert_eq!(town.found("/rd-lookup/res"), "<coap://192.0.2.7/t>");
    let (code, _) = town.said(&at("192.0.2.7:999"), &request(&format!("DELETE {place}"), ""));
    assert_eq!(code, "2.02");
}

#[test]
fn who_registers_over_a_connection_changes_it_over_the_next_one() {
    let mut town = Town::new();
    let over = |connection, address: [u8; 4]| Caller {
        peer: Peer::Stream(connection),
        connected: Some(address.into()),
        ..at(HOME)
    };
    let line = request("POST /rd?ep=a&base=coap://h", "</t>");
    let place = town.registered(&over(1, [192, 0, 2, 7]), &line);
    let update = request(&format!("POST {place}"), "");
    // Numbers of connections begin anew; addresses do not.
    town.refuses(&over(1, [192, 0, 2, 8]), &update, "4.03", Refusal::Foreign);
    assert_eq!(town.said(&over(2, [192, 0, 2, 7]), &update).0, "2.04");
}
