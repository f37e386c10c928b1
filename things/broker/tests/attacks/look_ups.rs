//! Attacks through look-ups of the directory.

use crate::building::*;
use motemix_broker::{Moment, Policy};
use motemix_coap::{Code, Method, Observe, Request, format};

fn lamp(number: u32, target: &str) -> Request {
    Request {
        query: vec![format!("ep=lamp-{number}"), "base=coap://[2001:db8::1]".to_owned()],
        content_format: Some(format::LINK_FORMAT),
        payload: format!("<{target}>").into_bytes(),
        ..Request::new(Method::Post, &["rd"])
    }
}

#[test]
fn look_ups_among_many_registrations_count_as_more_than_one_request() {
    let mut building = Building::new(parse("[rates]\nrequests = 10\nburst = 20\n"), &[]);
    for number in 0..5000 {
        assert_eq!(building.answer(&local(), lamp(number, "/on")).code, Code::CREATED);
    }
    let look_up = |query: &str| Request { query: vec![query.to_owned()], ..get(&["rd-lookup", "res"]) };
    let taken = |building: &mut Building, number: u16, query: &str| {
        let answers = (0..30).map(|_| building.answer(&stranger(number), look_up(query)).code);
        answers.filter(|code| *code == Code::CONTENT).count()
    };
    assert_eq!(taken(&mut building, 1, "rt=nothing"), 20 / 6);
    // Who names an endpoint makes no work.
    assert_eq!(taken(&mut building, 2, "ep=lamp-7"), 20);
}

#[test]
fn a_look_up_counts_by_the_links_and_the_values_that_it_compares() {
    let mut building = Building::new(parse("[rates]\nrequests = 10\nburst = 20\n"), &[]);
    // One name in many sectors, with many links each.
    let links = (0..64).map(|link| format!("</{link}>")).collect::<Vec<_>>().join(",");
    for sector in 0..50 {
        let query = vec!["ep=x".to_owned(), format!("d={sector}"), "base=coap://[2001:db8::1]".to_owned()];
        let mut request = Request { query, ..Request::new(Method::Post, &["rd"]) };
        request.content_format = Some(format::LINK_FORMAT);
        request.payload = links.clone().into_bytes();
        assert_eq!(building.answer(&local(), request).code, Code::CREATED);
    }
    let taken = |building: &mut Building, number: u16, values: &[&str]| {
        let query = ["ep=x"].iter().chain(values).map(|value| (*value).to_owned()).collect();
        let look_up = Request { query, ..get(&["rd-lookup", "res"]) };
        let answers = (0..30).map(|_| building.answer(&stranger(number), look_up.clone()).code);
        answers.filter(|code| *code == Code::CONTENT).count()
    };
    // 50 registrations and 3,200 links, of 170 bytes in each registration, and two values or seven.
    let work = 50 * (1 + 64 + 1);
    assert_eq!(taken(&mut building, 1, &["rt=nothing"]), 20 / (1 + 2 * work / 2000));
    assert_eq!(
        taken(&mut building, 2, &["a=", "b=", "c=", "d=", "e=", "rt=nothing"]),
        20 / (1 + 7 * work / 2000)
    );
    // The same value again is no work, and a URI is resolved first.
    assert_eq!(taken(&mut building, 3, &["ep=x", "rt=nothing", "rt=nothing"]), 20 / (1 + 2 * work / 2000));
    assert_eq!(taken(&mut building, 4, &["href=nothing"]), 20 / (1 + 9 * work / 2000));
}

#[test]
fn one_peer_observes_a_quarter_of_the_look_ups_and_others_have_the_rest() {
    let mut building = Building::new(parse("[limits]\nobserved_look_ups = 8\n"), &[]);
    let mut observes = |number: u16, token: u8| {
        let query = vec![format!("rt=of-{number}-{token}")];
        let observe = Request { observe: Some(Observe::Register), query, ..get(&["rd-lookup", "res"]) };
        let (response, settled) = building.ask(&stranger(number), token, observe);
        assert_eq!(response.code, Code::CONTENT);
        settled.answers[0].observing
    };
    let of_one: Vec<_> = (0..4).map(|token| observes(1, token)).collect();
    assert_eq!(of_one, [true, true, false, false]);
    assert!(observes(2, 0) && observes(3, 0));
}

#[test]
fn observed_look_ups_among_many_registrations_are_answered_again_after_a_rest() {
    let mut building = Building::new(Policy::default(), &[]);
    for number in 0..5000 {
        assert_eq!(building.answer(&local(), lamp(number, "/on")).code, Code::CREATED);
    }
    // Each asks for something else, or there would be one look-up with many observers.
    for number in 0..60 {
        let query = vec![format!("href=coap://[2001:db8::1]/{number}*")];
        let observe = Request { observe: Some(Observe::Register), query, ..get(&["rd-lookup", "res"]) };
        let (response, _) = building.ask(&stranger(number), 1, observe);
        assert_eq!(response.code, Code::CONTENT);
    }
    let change = |building: &mut Building, target: &str| {
        let (_, settled) = building.ask(&local(), 1, lamp(1, target));
        settled.notices.len()
    };
    assert_eq!(change(&mut building, "/7"), 1);
    for target in ["/8", "/9", "/10"] {
        assert_eq!(change(&mut building, target), 0, "a stranger's work is never done");
    }
    // Nobody waits for long, and each hears of the newest: 7 is gone, and 1 and 10 are there.
    let due = building.broker.next_expiry().unwrap();
    assert!(due > building.now && due <= building.now.plus_secs(1), "{due:?}");
    assert!(building.broker.is_settled());
    building.now = due;
    building.broker.expire(due);
    assert!(!building.broker.is_settled());
    let notices = building.broker.stored().notices;
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(building.broker.is_settled());
    // A clock that was set back by a year keeps nobody waiting.
    building.now = Moment::from_millis(START.as_millis() - 365 * 86_400_000);
    assert_eq!(change(&mut building, "/59"), 4);
}

#[test]
fn look_ups_that_no_change_concerns_count_in_the_rest_as_well() {
    let mut building = Building::new(Policy::default(), &[]);
    let observe = |building: &mut Building, number: u16, query: Vec<String>| {
        let observe = Request { observe: Some(Observe::Register), query, ..get(&["rd-lookup", "res"]) };
        let (response, settled) = building.ask(&stranger(number), number.to_be_bytes()[1], observe);
        assert_eq!(response.code, Code::CONTENT);
        assert!(settled.answers[0].observing);
    };
    observe(&mut building, 1, vec!["ep=lamp-1".to_owned()]);
    for number in 2..60 {
        let values = (0..15).map(|value| format!("href=coap://[2001:db8::1]/{value}*"));
        observe(&mut building, number, values.chain([format!("rt=of-{number}")]).collect());
    }
    let mut many = lamp(2, "/on");
    many.payload = (0..64).map(|link| format!("</{link}>")).collect::<Vec<_>>().join(",").into_bytes();
    let (_, settled) = building.ask(&local(), 1, many);
    assert_eq!(settled.notices.len(), 0);
    // What it took to find that it concerns nobody is rested for, and then who waits hears of it.
    let (_, settled) = building.ask(&local(), 1, lamp(1, "/on"));
    assert_eq!(settled.notices.len(), 0);
    let due = building.broker.next_expiry().unwrap();
    assert!(due > building.now && due <= building.now.plus_secs(1), "{due:?}");
    building.now = due;
    building.broker.expire(due);
    assert_eq!(building.broker.stored().notices.len(), 1);
    assert!(building.broker.is_settled());
}

#[test]
fn look_ups_that_all_have_changed_are_answered_a_few_at_a_time_and_each_has_its_turn() {
    let mut building = Building::new(Policy::default(), &[]);
    for number in 0..5000 {
        assert_eq!(building.answer(&local(), lamp(number, "/on")).code, Code::CREATED);
    }
    let first = Request { query: vec!["count=1".to_owned()], ..get(&["rd-lookup", "ep"]) };
    let first = text(&building.answer(&local(), first));
    let first: u32 = first.split_once("ep=lamp-").unwrap().1.split(';').next().unwrap().parse().unwrap();
    let observers = 20;
    for number in 0..observers {
        let query = vec!["href=coap://[2001:db8::1]/*".to_owned(), format!("count={}", number + 1)];
        let observe = Request { observe: Some(Observe::Register), query, ..get(&["rd-lookup", "res"]) };
        let (_, settled) = building.ask(&stranger(number), 1, observe);
        assert!(settled.answers[0].observing);
    }
    // It changes for ever, and concerns all of them.
    let (mut told, mut rounds) = (std::collections::HashSet::new(), 0);
    while told.len() < usize::from(observers) {
        let (_, settled) = building.ask(&local(), 1, lamp(first, &format!("/{rounds}")));
        assert!(settled.notices.len() <= 5, "{} in one round", settled.notices.len());
        told.extend(settled.notices.iter().map(|notice| notice.relation));
        rounds += 1;
        assert!(rounds <= 4, "some are told again before others are told at all");
        building.now = building.broker.next_expiry().unwrap().max(building.now);
    }
}
