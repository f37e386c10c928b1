use proptest::prelude::*;

use super::*;

fn links(text: &str) -> Vec<Link> {
    parse(text, 100).unwrap()
}

fn fault(text: &str) -> String {
    parse(text, 3).unwrap_err().to_string()
}

#[test]
fn quotes_and_escapes_belong_to_no_value() {
    let read = links(r#"</a>;title="a \"b\" \\ c, d; e";sz=7;obs;empty="""#);
    let [link] = &*read else { panic!("one link: {read:?}") };
    assert_eq!(link.value("title"), Some(r#"a "b" \ c, d; e"#));
    assert_eq!(link.value("sz"), Some("7"));
    assert_eq!((link.value("obs"), link.has("obs"), link.has("other")), (None, true, false));
    assert_eq!(link.value("empty"), Some(""));
    // Not one link of it is another way of writing it.
    assert_eq!(emit(&read), r#"</a>;title="a \"b\" \\ c, d; e";sz=7;obs;empty="""#);
}

#[test]
fn an_empty_text_has_no_links() {
    assert_eq!(parse("", 0), Ok(Vec::new()));
}

#[test]
fn what_may_stand_once_counts_once() {
    // RFC 6690 §3 and RFC 5988 §5: parsers ignore the ones after the first.
    let read = links("</a>;rt=first;rt=second;rel=x;rel=y;rev=p;rev=q;et=one;et=two");
    let [link] = &*read else { panic!("one link: {read:?}") };
    for (name, values) in
        [("rt", &["first"][..]), ("rel", &["x"]), ("rev", &["p", "q"]), ("et", &["one", "two"])]
    {
        assert_eq!(link.values(name).collect::<Vec<_>>(), values, "{name}");
    }
}

#[test]
fn text_that_is_no_link_format_is_refused_with_its_place() {
    for (text, said) in [
        ("/a", "link format, byte 0: a link begins with <"),
        ("</a>,", "link format, byte 5: a link begins with <"),
        ("</a>, </b>", "link format, byte 5: a link begins with <"),
        ("</a", "link format, byte 0: this < has no >"),
        ("</a b>", "link format, byte 3: no URI has this character; percent-encode it"),
        ("</a\n>", "link format, byte 3: no URI has this character; percent-encode it"),
        ("</a> ;rt=x", "link format, byte 4: only , or ; may stand here, and no blanks"),
        ("</a>;", "link format, byte 5: a name of an attribute has to stand here"),
        ("</a>;rt=x; if=y", "link format, byte 10: a name of an attribute has to stand here"),
        ("</a>;=x", "link format, byte 5: a name of an attribute has to stand here"),
        ("</a>;rt=", "link format, byte 8: a value has to stand here; put it into quotes"),
        ("</a>;rt=ä", "link format, byte 8: a value has to stand here; put it into quotes"),
        ("</a>;title*", "link format, byte 11: a value has to stand here; put it into quotes"),
        ("</a>;rt=\"x", "link format, byte 8: this quote is not closed"),
        ("</a>;rt=\"x\\", "link format, byte 8: this quote is not closed"),
        ("</a>;rt=\"x\ty\"", "link format, byte 10: a control character; leave it out"),
        ("</a>;rt=\"x\"y", "link format, byte 11: only , or ; may stand here, and no blanks"),
        ("<>,<>,<>,<>", "link format, byte 9: more than 3 links; send fewer"),
    ] {
        assert_eq!(fault(text), said, "{text}");
    }
    let many = format!("</a>{}", ";a".repeat(MAX_ATTRIBUTES + 1));
    assert_eq!(fault(&many), "link format, byte 69: a link has at most 32 attributes");
}

#[test]
fn unicode_stands_as_it_is_and_percent_signs_too() {
    // RFC 9176, C.4.
    let read = links("</temperature/Malmö>;rel=live-environment-data,</temperature/Malm%C3%B6>");
    assert_eq!(&*read[0].target, "/temperature/Malmö");
    assert_eq!(&*read[1].target, "/temperature/Malm%C3%B6");
    assert_eq!(normalise(&read[1].target), read[0].target.as_ref());
    for (given, normal) in
        [("/a%2Fb%41", "/a%2FbA"), ("/%", "/%"), ("/%4", "/%4"), ("/%FF", "/%FF"), ("/%zz", "/%zz")]
    {
        assert_eq!(normalise(given), normal);
    }
}

#[test]
fn a_link_from_anywhere_is_emitted_as_link_format() {
    let hostile = Link::new("/a>,</b c").with("x\";y", "1").with("title", "two\nlines").with_flag("obs");
    let text = emit(&[hostile]);
    assert_eq!(text, "</a%3E,%3C/b%20c>;title=\"two lines\";obs");
    assert_eq!(links(&text).len(), 1);
}

#[test]
fn a_query_asks_for_values_beginnings_and_words_of_a_list() {
    let read =
        links(r#"</sensors/temp>;rt="temperature-c indoor";if=sensor;title="a b";ct="40 60";obs,</%74>"#);
    let asks = |query| Filter::of_parameter(query).matches(&read[0]);
    for query in [
        "rt=temperature-c",
        "rt=indoor",
        "rt=temp*",
        "rt=in*",
        "rt=*",
        "rt=temperature-c indoor",
        "if=sensor",
        "title=a b",
        "ct=60",
        "href=/sensors/temp",
        "href=/sensors/*",
        "href=/%73ensors/*",
        "obs",
    ] {
        assert!(asks(query), "{query}");
    }
    for query in
        ["rt=door", "rt=temperature", "if=", "title=b", "href=/sensors", "href=", "obs=1", "sz", "rt=C*"]
    {
        assert!(!asks(query), "{query}");
    }
    assert!(Filter::of_parameter("href=/t").matches(&read[1]));
}

#[test]
fn references_are_resolved_under_an_origin() {
    let origin = Origin::of("coap://[2001:db8::1]:61616/ignored").unwrap();
    assert_eq!((origin.as_str(), origin.authority()), ("coap://[2001:db8::1]:61616", "[2001:db8::1]:61616"));
    for (reference, uri) in [
        ("/a/b?c", Some("coap://[2001:db8::1]:61616/a/b?c")),
        ("/a/./b/../c", Some("coap://[2001:db8::1]:61616/a/c")),
        ("/a/..", Some("coap://[2001:db8::1]:61616/")),
        ("/..//x", Some("coap://[2001:db8::1]:61616/x")),
        ("http://www.example.com/t", Some("http://www.example.com/t")),
        ("urn:x:y", Some("urn:x:y")),
        ("//elsewhere/a", None),
        ("a", None),
        ("", None),
        ("?q", None),
    ] {
        assert_eq!(origin.resolve(reference).as_deref(), uri, "{reference}");
        assert_eq!(Origin::takes(reference), uri.is_some(), "{reference}");
    }
    for none in ["coap:", "coap://", "://a", "1a://b", "/a", ""] {
        assert_eq!(Origin::of(none), None, "{none}");
    }
}

#[test]
fn what_devices_write_beside_link_format_is_understood() {
    for (text, means) in [
        ("</a>, </b>", "</a>,</b>"),
        ("</a> ; rt = x ,\r\n</b>", "</a>;rt=x,</b>"),
        ("</a>,", "</a>"),
        (",</a>,,</b>;,", "</a>,</b>"),
        ("</a>;rt=\"x\";;obs;", "</a>;rt=x;obs"),
        ("</a>;title=Living room;ct=0", "</a>;title=\"Living room\";ct=0"),
        ("</a>;title=Wärme °C", "</a>;title=\"Wärme °C\""),
        ("</a>;title=\"two\nlines\"", "</a>;title=\"two lines\""),
        ("</a>;rt=;obs", "</a>;rt=\"\";obs"),
        ("</a>;title*", "</a>"),
        ("</a>\0", "</a>"),
        ("", ""),
        (" \r\n", ""),
    ] {
        let reading = parse_lenient(text, 9).unwrap();
        assert_eq!((&*emit(&reading.links), reading.left_out.len()), (means, 0), "{text:?}");
    }
}

#[test]
fn what_cannot_be_understood_is_left_out_and_the_links_around_it_are_read() {
    for (text, means, left_out) in [
        ("/a,</b>", "</b>", "/a"),
        ("</a b>;rt=x,</b>", "</b>", "</a b>;rt=x"),
        ("</b>,</a", "</b>", "</a"),
        ("</a>;rt=\"x,</b>", "</b>", "</a>;rt=\"x"),
        ("</a>;=x,</b>", "</b>", "</a>;=x"),
        ("</a>;rt=\"x\"y,</b>", "</b>", "</a>;rt=\"x\"y"),
        ("</a>;title=one, two,</b>", "</a>;title=\"one\",</b>", "two"),
    ] {
        let reading = parse_lenient(text, 9).unwrap();
        let texts: Vec<_> = reading.left_out.iter().map(|left_out| left_out.text).collect();
        assert_eq!((&*emit(&reading.links), &*texts), (means, &[left_out][..]), "{text:?}");
    }
    assert_eq!(parse_lenient("<>,x,<>", 2).unwrap_err().problem, Problem::Links(2));
}

/// Links that a text could have had.
fn any_link() -> impl Strategy<Value = Link> {
    let name = "[a-z!#$&+.^_`|~-]{1,6}[*]?";
    let value = prop_oneof!["[a-zA-Z0-9:/?%=<>@-]{1,10}", "\\PC{0,10}"];
    let attribute = (name, proptest::option::of(value));
    ("[a-zA-Z0-9/:?#%@!$&'()*+,;=._~ö-]{0,12}", proptest::collection::vec(attribute, 0..5)).prop_map(
        |(target, attributes)| {
            let mut link = Link::new(&target);
            for (name, value) in attributes {
                if link.has(&name) || (value.is_none() && name.ends_with('*')) {
                    continue;
                }
                link.attributes.push((name.into(), value.map(Into::into)));
            }
            link
        },
    )
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_as_it_was(given in proptest::collection::vec(any_link(), 0..6)) {
        prop_assert_eq!(parse(&emit(&given), 6).unwrap(), given);
    }

    #[test]
    fn what_was_read_is_emitted_in_one_form(text in "[</>;,=\" a-c\\\\*]{0,24}") {
        if let Ok(links) = parse(&text, 8) {
            let emitted = emit(&links);
            prop_assert_eq!(parse(&emitted, 8).unwrap(), links);
        }
    }

    /// What is in link format is read the same, and what is not is in link format from then on.
    #[test]
    fn a_lenient_reader_reads_what_a_strict_one_does_and_more(text in "[</>;,=\" a-c\\\\*\r]{0,32}") {
        let reading = parse_lenient(&text, 40).unwrap();
        if let Ok(links) = parse(&text, 40) {
            prop_assert_eq!((&reading.links, reading.left_out.len()), (&links, 0));
        }
        prop_assert_eq!(parse(&emit(&reading.links), 40).unwrap(), reading.links);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = parse_lenient(&text, 8);
        let _ = parse(&text, 8);
        let _ = normalise(&text);
    }
}
