//! Text of whatever characters as links: what is read is written in one form and read again the
//! same, and no query or base makes anything panic.
#![cfg_attr(fuzzing, no_main)]

use motemix_coap::link_format::{Filter, Link, Origin, emit, normalise, parse};
use motemix_fuzz::fuzz_target;

const MOST: usize = 64;

// The first line is a query, the others are links, so that real documents are seeds.
fuzz_target!(|text: &str| {
    let (query, links) = text.split_once('\n').unwrap_or(("", text));
    let filter = Filter::of_parameter(query);
    if let Ok(links) = parse(links, MOST) {
        assert!(links.len() <= MOST);
        let written = emit(&links);
        assert_eq!(parse(&written, MOST).as_ref(), Ok(&links));
        for link in &links {
            let whole = Filter::of_parameter("href=*");
            assert!(whole.matches(link));
            let _ = filter.matches(link);
            resolve(&link.target);
        }
    }
    // What was never read is written as link format as well.
    let made = Link::new(query).with(query, links).with("title", links).with_flag("obs");
    let written = emit([&made, &made]);
    assert_eq!(parse(&written, 2).expect("link format").len(), 2, "{written}");
    let _ = normalise(text);
});

fn resolve(reference: &str) {
    let origin = Origin::of("coap://[2001:db8::1]:61616").expect("an origin");
    let resolved = origin.resolve(reference);
    assert_eq!(resolved.is_some(), Origin::takes(reference));
    if let Some(resolved) = resolved {
        assert!(reference == resolved || resolved.starts_with(&format!("{}/", origin.as_str())));
    }
}
