//! Ten thousand registrations.

use std::time::Instant;

use crate::desk::{Town, at, request};

#[test]
#[ignore = "prints how long look-ups take; ten seconds"]
fn look_ups_among_ten_thousand() {
    let mut town = Town::new();
    town.settings.registrations_of_a_network = usize::MAX;
    let began = Instant::now();
    for number in 0..10_000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let from = format!("192.0.{high}.{low}:5683");
        let line = format!("POST /rd?ep=device-{number}&d=floor-{}&et=mote", number % 100);
        town.registered(&at(&from), &request(&line, "</t>;rt=temperature;ct=110,</h>;rt=humidity;ct=110"));
    }
    println!("10000 registrations: {:?}", began.elapsed());
    for query in
        ["ep?ep=device-7777", "res?ep=device-7777", "res?rt=nothing", "res?d=floor-7", "ep?et=mote&count=10"]
    {
        let began = Instant::now();
        let found = (0..10).map(|_| town.found(&format!("/rd-lookup/{query}")).len()).max();
        println!("{query}: {:?} bytes, {:?}", found, began.elapsed() / 10);
    }
}
