//! Many registrations, and look-ups that go by name or at all of them.

use crate::desk::{Town, at, request};

#[test]
fn among_a_thousand_registrations_a_look_up_finds_those_it_asks_for() {
    let mut town = Town::new();
    town.settings.registrations_of_a_network = usize::MAX;
    for number in 0..1000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let line = format!("POST /rd?ep=device-{number}&d=floor-{}&et=mote", number % 100);
        let links = "</t>;rt=temperature;ct=110,</h>;rt=humidity;ct=110";
        town.registered(&at(&format!("192.0.{high}.{low}:5683")), &request(&line, links));
    }
    for (query, found) in [
        ("ep?ep=device-777", 1),
        ("res?ep=device-777", 2),
        ("res?ep=device-1000", 0),
        ("res?rt=nothing", 0),
        ("res?d=floor-7", 20),
        ("res?d=floor-7&rt=humidity", 10),
        ("ep?et=mote&count=10", 10),
    ] {
        let links = town.found(&format!("/rd-lookup/{query}"));
        assert_eq!(links.matches('<').count(), found, "{query}: {links}");
    }
}
