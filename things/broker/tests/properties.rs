//! What holds for any sequence of changes.

use std::sync::Arc;

use motemix_broker::state::{
    BadChange, CHANGE_VERSION, Link, MAX_CHANGE_LEN, Registration, RegistrationId, Signed, Topic, TopicId,
    Value,
};
use motemix_broker::store::{Retention, Sqlite};
use motemix_broker::{Change, Moment, State, Store as _};
use motemix_object::{Freshness, Identity};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn short_text() -> impl Strategy<Value = Arc<str>> {
    "[a-z/é]{0,8}".prop_map(Arc::from)
}

fn identity() -> impl Strategy<Value = Identity> {
    (0_u8..4).prop_map(|number| Identity::from_bytes([number; 32]))
}

fn moment() -> impl Strategy<Value = Moment> {
    (0_u64..1 << 50).prop_map(Moment::from_millis)
}

fn topic_id() -> impl Strategy<Value = TopicId> {
    "[a-d]".prop_map(|id| TopicId(id.into()))
}

fn topic() -> impl Strategy<Value = Topic> {
    let about = (short_text(), option::of(short_text()), option::of(any::<u16>()), option::of(moment()));
    let more = (option::of(any::<u32>()), any::<u32>(), option::of(identity()), option::of(identity()));
    (about, more).prop_map(|((name, topic_type, content_format, expires), more)| {
        let (max_subscribers, observer_check, device, owner) = more;
        Topic { name, topic_type, content_format, expires, max_subscribers, observer_check, device, owner }
    })
}

fn value() -> impl Strategy<Value = Value> {
    let signed = option::of(any::<u64>());
    (moment(), option::of(any::<u16>()), vec(any::<u8>(), 0..40), signed).prop_map(
        |(published, content_format, payload, signed)| Value {
            published,
            content_format,
            payload: payload.into(),
            signed: signed.map_or(Signed::Unchecked, |sequence| Signed::ByDevice { sequence }),
        },
    )
}

fn registration() -> impl Strategy<Value = Registration> {
    let attributes = || vec((short_text(), option::of(short_text())), 0..3);
    let links = vec((short_text(), attributes()), 0..3);
    let about = (short_text(), option::of(short_text()), short_text(), moment(), any::<u32>());
    let whose = (option::of(identity()), option::of(identity()), option::of(any::<std::net::IpAddr>()));
    (about, attributes(), links, whose, any::<bool>()).prop_map(
        |(about, attributes, links, whose, base_stated)| {
            let (endpoint, sector, base, expires, lifetime) = about;
            let (device, owner, registrant) = whose;
            let links = links.into_iter().map(|(target, attributes)| Link { target, attributes }).collect();
            Registration {
                endpoint,
                sector,
                base,
                base_stated,
                expires,
                lifetime,
                attributes,
                links,
                device,
                owner,
                registrant,
            }
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let id = "[a-d]".prop_map(|id| RegistrationId(id.into()));
    let fresh = [any::<u64>(), any::<u64>()].prop_map(Freshness::from_words);
    prop_oneof![
        (topic_id(), option::of(topic().prop_map(Arc::new))).prop_map(|(id, topic)| Change::Topic(id, topic)),
        (topic_id(), option::of(value().prop_map(Arc::new))).prop_map(|(id, value)| Change::Value(id, value)),
        (id, option::of(registration().prop_map(Arc::new)))
            .prop_map(|(id, registration)| Change::Registration(id, registration)),
        (identity(), option::of(fresh)).prop_map(|(device, fresh)| Change::Freshness(device, fresh)),
    ]
}

/// A broker removes a topic after its value, and publishes to topics that there are.
fn as_a_broker_makes_them(changes: Vec<Change>) -> Vec<Change> {
    let (mut state, mut made) = (State::default(), Vec::new());
    for change in changes {
        match &change {
            Change::Topic(id, None) if state.value(id).is_some() => {
                let value = Change::Value(id.clone(), None);
                state.apply(value.clone());
                made.push(value);
            }
            Change::Value(id, _) if state.topic(id).is_none() => continue,
            _ => {}
        }
        state.apply(change.clone());
        made.push(change);
    }
    made
}

proptest! {
    #[test]
    fn changes_taken_back_leave_what_was_before(before in vec(change(), 0..20), changes in vec(change(), 0..40)) {
        let mut state = State::default();
        for change in before {
            state.apply(change);
        }
        let first = state.clone();
        let inverses: Vec<Change> = changes.into_iter().map(|change| state.apply(change)).collect();
        for inverse in inverses.into_iter().rev() {
            state.apply(inverse);
        }
        prop_assert_eq!(state, first);
    }

    #[test]
    fn a_state_is_made_of_its_changes(changes in vec(change(), 0..40)) {
        let mut state = State::default();
        for change in changes {
            state.apply(change);
        }
        let mut again = State::default();
        for change in state.as_changes() {
            again.apply(change);
        }
        prop_assert_eq!(again, state);
    }

    #[test]
    fn a_change_is_what_it_was_after_it_was_bytes(change in change()) {
        prop_assert_eq!(Change::decode(&change.encode()), Ok(change));
    }

    #[test]
    fn cut_or_longer_bytes_are_no_change(change in change(), cut in any::<prop::sample::Index>()) {
        let mut bytes = change.encode();
        prop_assert!(Change::decode(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(Change::decode(&bytes).is_err());
    }

    #[test]
    fn whatever_bytes_are_a_change_are_its_only_form(bytes in vec(any::<u8>(), 0..60)) {
        if let Ok(change) = Change::decode(&bytes) {
            prop_assert_eq!(change.encode(), bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_store_opened_again_has_the_same_state(changes in vec(change(), 0..60), batch in 1_usize..9) {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State::default();
        let changes = as_a_broker_makes_them(changes);
        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        for batch in changes.chunks(batch) {
            store.commit(batch).unwrap();
            for change in batch {
                state.apply(change.clone());
            }
        }
        prop_assert_eq!(&store.load().unwrap(), &state);
        drop(store);
        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        prop_assert_eq!(store.load().unwrap(), state);
    }
}

#[test]
fn a_change_of_another_version_or_kind_is_told_apart() {
    let bytes = Change::Topic(TopicId("a".into()), None).encode();
    assert_eq!(bytes, [0x84, CHANGE_VERSION, 0, 0x61, b'a', 0xf6]);
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        Change::decode(&bytes)
    };
    assert_eq!(with(1, 2), Err(BadChange::Version(2)));
    let said = with(2, 9).unwrap_err().to_string();
    assert!(said.contains("of a kind that this program does not know; update it"), "{said}");
    assert_eq!(Change::decode(&vec![0; MAX_CHANGE_LEN + 1]), Err(BadChange::Long(MAX_CHANGE_LEN + 1)));
    // One that says to have more elements than there are bytes takes no memory for them.
    let huge = hex::decode("840102616188616160616000008060809bffffffffffffffff").unwrap();
    assert!(Change::decode(&huge).is_err());
}
