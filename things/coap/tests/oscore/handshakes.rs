//! EDHOC over CoAP between ours and ours.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use motemix_coap::oscore::edhoc::{
    self, Accepted, AnyByValue, DeviceKey, Failed, Own, OwnSecret, Policy, Responder, begin,
};
use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{
    Application, Arrived, ContextId, Contexts, Layer, Message, NothingStored, Sender, Settings, Unopened,
};
use motemix_coap::{Code, Peer, Standing};
use motemix_crypto::Secret;
use motemix_neighbour::PrivateKey;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::{CredentialId, Method, Refused};
use motemix_time::Instant;

use crate::two::{START, content, get};

fn secret(rng: &mut ChaCha20Rng) -> Secret<32> {
    let mut bytes = Secret::zero();
    rng.fill_bytes(bytes.expose_mut());
    bytes
}

fn ed25519(rng: &mut ChaCha20Rng) -> Own {
    Own::new(OwnSecret::Ed25519(Ed25519Key::new(secret(rng))), None, None).expect("short")
}

fn x25519(rng: &mut ChaCha20Rng) -> Own {
    Own::new(OwnSecret::X25519(secret(rng)), None, None).expect("short")
}

fn p256(rng: &mut ChaCha20Rng) -> Own {
    Own::new(OwnSecret::P256(PrivateKey::generate(rng)), Some("gate"), None).expect("short")
}

fn peer(host: u8, port: u16) -> Peer {
    Peer::Datagram(SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), port)))
}

/// A broker's side.
struct Server {
    layer: Layer,
    rng: ChaCha20Rng,
    now: Instant,
    from: Peer,
    policy: Box<dyn Policy>,
}

impl Server {
    fn new(settings: Settings, waiting: edhoc::Settings, own: Vec<Own>) -> Self {
        Self {
            layer: Layer { contexts: Contexts::new(settings), responder: Some(Responder::new(waiting, own)) },
            rng: ChaCha20Rng::seed_from_u64(99),
            now: START,
            from: peer(1, 1),
            policy: Box::new(AnyByValue),
        }
    }

    fn of(own: Vec<Own>) -> Self {
        Self::new(Settings::default(), edhoc::Settings::default(), own)
    }

    fn edhoc(&mut self, request: &Message) -> Message {
        let Arrived::Answer(answer) = self.arrive(request, Standing::Certain) else {
            panic!("no Echo is needed")
        };
        answer
    }

    fn arrive(&mut self, request: &Message, standing: Standing) -> Arrived {
        let mut application = Application { policy: self.policy.as_mut(), store: &mut NothingStored };
        let sender = Sender { peer: self.from, standing };
        self.layer.arrive(self.now, sender, request.clone(), &mut application, &mut self.rng)
    }

    fn responder(&self) -> &Responder {
        self.layer.responder.as_ref().expect("it has one")
    }

    /// A protected request, perhaps with message_3 in front: what comes back, and who asked.
    fn protected(&mut self, outer: &Message) -> (Message, Option<DeviceKey>) {
        match self.arrive(outer, Standing::Unproven) {
            Arrived::Protected(inner, mut exchange) => {
                let contexts = &mut self.layer.contexts;
                let device = contexts.device(exchange.context()).expect("by EDHOC").key;
                let response = content(&inner.to_bytes());
                let outer = contexts.protect_response(&mut exchange, response, &mut NothingStored);
                (outer.expect("a first response"), Some(device))
            }
            Arrived::Answer(answer) => (answer, None),
            other => panic!("{other:?}"),
        }
    }
}

/// A device's side, or our command line's.
struct Client {
    own: Own,
    contexts: Contexts,
    rng: ChaCha20Rng,
}

impl Client {
    fn new(own: Own, seed: u64) -> Self {
        Self { own, contexts: Contexts::new(Settings::default()), rng: ChaCha20Rng::seed_from_u64(seed) }
    }

    fn begin(&mut self, method: Method) -> (edhoc::Begun, Message) {
        begin(&self.own, method, &[], (&self.contexts, &[]), &mut self.rng).expect("a key for the method")
    }

    fn meet(&mut self, server: &mut Server, method: Method) -> Result<edhoc::Met, Failed> {
        let (mut begun, message_1) = self.begin(method);
        let message_2 = server.edhoc(&message_1);
        begun.meet(&message_2, &self.own, &mut AnyByValue, &mut self.rng)
    }

    fn ask(
        &mut self,
        id: ContextId,
        met: Option<&edhoc::Met>,
        server: &mut Server,
    ) -> Result<(Vec<u8>, Option<DeviceKey>), Unopened> {
        let asked = self.contexts.protect_request(server.now, id, get("door"), &mut NothingStored);
        let (outer, mut asked) = asked.expect("a number");
        let outer = met.map_or(outer.clone(), |met| met.combined(outer));
        let (answer, device) = server.protected(&outer);
        let inner = self.contexts.unprotect_response(server.now, &mut asked, &answer)?;
        Ok((inner.payload, device))
    }

    /// A handshake and a first request: the context, and whom the server takes this for.
    fn arrive(
        &mut self,
        server: &mut Server,
        method: Method,
    ) -> Result<(ContextId, Option<DeviceKey>), Failed> {
        let met = self.meet(server, method)?;
        let id = self.contexts.insert(server.now, met.context(server.now)?).expect("a place");
        let (said, device) = self.ask(id, Some(&met), server).map_err(|_| Failed::Answered(0))?;
        assert_eq!(said, get("door").to_bytes());
        Ok((id, device))
    }
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

#[test]
fn a_client_proves_its_key_in_two_round_trips_with_each_kind_of_key() {
    let mut server = Server::of(vec![ed25519(&mut rng(1)), x25519(&mut rng(2)), p256(&mut rng(3))]);
    for (own, method) in [
        (ed25519(&mut rng(4)), Method::Signatures),
        (x25519(&mut rng(5)), Method::StaticKeys),
        (p256(&mut rng(6)), Method::Signatures),
        (p256(&mut rng(7)), Method::StaticKeys),
    ] {
        let key = *own.key();
        let mut client = Client::new(own, 8);
        let (id, device) = client.arrive(&mut server, method).expect("an undisturbed handshake");
        assert_eq!(device, Some(key));
        let (_, device) = client.ask(id, None, &mut server).expect("the context serves further");
        assert_eq!(device, Some(key));
    }
    assert_eq!(server.responder().counters().completed, 4);
    assert_eq!(server.responder().waiting(), 0);
}

#[test]
fn message_3_by_itself_is_confirmed_by_message_4() {
    let mut server = Server::of(vec![x25519(&mut rng(1))]);
    let mut client = Client::new(x25519(&mut rng(2)), 3);
    let met = client.meet(&mut server, Method::StaticKeys).expect("message_2");
    assert_eq!(met.server().key, *x25519(&mut rng(1)).key());
    let request = met.alone();
    assert_eq!(request.option(number::CONTENT_FORMAT), Some(&[65][..]));
    let message_4 = server.edhoc(&request);
    assert_eq!(message_4.option(number::CONTENT_FORMAT), Some(&[64][..]));
    for at in 0..message_4.payload.len() {
        let mut altered = message_4.clone();
        altered.payload[at] ^= 1;
        met.confirm(&altered).expect_err("altered");
    }
    met.confirm(&message_4).expect("the server's");
    let id = client.contexts.insert(START, met.context(START).expect("other names")).expect("a place");
    let (_, device) = client.ask(id, None, &mut server).expect("the same keys");
    assert_eq!(device, Some(*client.own.key()));
}

#[test]
fn an_altered_message_3_makes_no_context_and_the_right_one_still_does() {
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    let mut client = Client::new(ed25519(&mut rng(2)), 3);
    let met = client.meet(&mut server, Method::Signatures).expect("message_2");
    let request = met.alone();
    for at in 1..request.payload.len() {
        let mut altered = request.clone();
        altered.payload[at] ^= 1;
        let answer = server.edhoc(&altered);
        assert_eq!(answer.code, Code::BAD_REQUEST.byte(), "byte {at}");
        assert!(server.layer.contexts.is_empty());
    }
    met.confirm(&server.edhoc(&request)).expect("it still waits");
    assert_eq!(server.layer.contexts.len(), 1);
    // The same message_3 a second time begins nothing.
    assert_eq!(server.edhoc(&request).code, Code::BAD_REQUEST.byte());
    assert_eq!(server.layer.contexts.len(), 1);
}

#[test]
fn an_altered_message_2_is_not_answered_and_the_right_one_still_is() {
    let mut server = Server::of(vec![x25519(&mut rng(1))]);
    let mut client = Client::new(x25519(&mut rng(2)), 3);
    let (mut begun, message_1) = client.begin(Method::StaticKeys);
    let message_2 = server.edhoc(&message_1);
    for at in 0..message_2.payload.len() {
        let mut altered = message_2.clone();
        altered.payload[at] ^= 1;
        begun.meet(&altered, &client.own, &mut AnyByValue, &mut client.rng).expect_err("altered");
    }
    begun.meet(&message_2, &client.own, &mut AnyByValue, &mut client.rng).expect("the server's");
    // There is one message_3.
    begun.meet(&message_2, &client.own, &mut AnyByValue, &mut client.rng).expect_err("it was made");
}

/// Knows one device, and nobody else.
struct Only(Vec<u8>);

impl Policy for Only {
    fn credential(&mut self, id: &CredentialId<'_>) -> Option<Accepted> {
        let is_it =
            matches!(id, CredentialId::Ccs(ccs) if *ccs == self.0) || *id == CredentialId::Kid(b"gate");
        is_it.then(|| Accepted { ccs: self.0.clone(), is_known: true })
    }
}

#[test]
fn who_is_not_on_the_list_gets_no_context_and_is_told_so() {
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    server.policy = Box::new(Only(ed25519(&mut rng(2)).ccs().to_vec()));
    let mut stranger = Client::new(ed25519(&mut rng(3)), 4);
    let met = stranger.meet(&mut server, Method::Signatures).expect("message_2");
    let answer = server.edhoc(&met.alone());
    assert_eq!(met.confirm(&answer), Err(Failed::UnknownHere));
    assert!(server.layer.contexts.is_empty());
    let mut friend = Client::new(ed25519(&mut rng(2)), 5);
    friend.arrive(&mut server, Method::Signatures).expect("it is on the list");
}

#[test]
fn a_name_that_is_known_does_not_help_without_the_key() {
    let secret_of = |seed| OwnSecret::Ed25519(Ed25519Key::new(secret(&mut rng(seed))));
    let named = |seed| Own::new(secret_of(seed), None, Some(b"gate")).expect("short");
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    server.policy = Box::new(Only(named(2).ccs().to_vec()));
    let mut impostor = Client::new(named(3), 4);
    let met = impostor.meet(&mut server, Method::Signatures).expect("message_2");
    assert_eq!(server.edhoc(&met.alone()).code, Code::BAD_REQUEST.byte());
    assert!(server.layer.contexts.is_empty());
    let mut gate = Client::new(named(2), 5);
    let (_, device) = gate.arrive(&mut server, Method::Signatures).expect("it has the key");
    assert_eq!(device, Some(*named(2).key()));
}

#[test]
fn a_server_whose_messages_are_turned_back_does_not_talk_to_itself() {
    let mut server = Server::of(vec![x25519(&mut rng(1))]);
    let mut itself = Client::new(x25519(&mut rng(1)), 2);
    let met = itself.meet(&mut server, Method::StaticKeys);
    assert_eq!(met.err(), Some(Failed::UnknownThere));
}

#[test]
fn another_suite_is_named_and_then_taken() {
    let mut server = Server::of(vec![p256(&mut rng(1))]);
    let mut client = Client::new(ed25519(&mut rng(2)), 3);
    let Err(Failed::Suites(suites)) = client.meet(&mut server, Method::Signatures) else {
        panic!("the suites that the server has")
    };
    assert_eq!(suites.as_slice(), [2]);
    client.own = p256(&mut rng(2));
    let (mut begun, message_1) =
        begin(&client.own, Method::Signatures, &[0], (&client.contexts, &[]), &mut client.rng).expect("room");
    let message_2 = server.edhoc(&message_1);
    begun.meet(&message_2, &client.own, &mut AnyByValue, &mut client.rng).expect("suite 2");
    // A server with both does not let itself be talked out of the better one.
    let mut server = Server::of(vec![ed25519(&mut rng(1)), p256(&mut rng(1))]);
    let answer = server.edhoc(&message_1);
    let failed = begun.meet(&answer, &client.own, &mut AnyByValue, &mut client.rng);
    assert!(matches!(failed, Err(Failed::Suites(suites)) if suites.as_slice() == [0, 2]));
}

#[test]
fn a_method_without_a_key_is_refused_on_both_sides() {
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    let mut client = Client::new(x25519(&mut rng(2)), 3);
    assert_eq!(client.meet(&mut server, Method::StaticKeys).err(), Some(Failed::Answered(0x80)));
    let begun = begin(&client.own, Method::Signatures, &[], (&client.contexts, &[]), &mut client.rng);
    assert_eq!(begun.err(), Some(Failed::Refused(Refused::Key)));
}

#[test]
fn requests_that_are_no_edhoc_are_answered_and_change_nothing() {
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    let mut client = Client::new(ed25519(&mut rng(2)), 3);
    let (_, message_1) = client.begin(Method::Signatures);
    let mut by_get = message_1.clone();
    by_get.code = 1;
    let mut wrong_format = message_1.clone();
    wrong_format.remove(number::CONTENT_FORMAT);
    wrong_format.add(number::CONTENT_FORMAT, [60]);
    for (request, code) in [
        (by_get, Code::METHOD_NOT_ALLOWED),
        (wrong_format, Code::UNSUPPORTED_CONTENT_FORMAT),
        (message_1.clone().with_payload(vec![]), Code::BAD_REQUEST),
        (message_1.clone().with_payload(vec![0xf5]), Code::BAD_REQUEST),
        (message_1.clone().with_payload(vec![0xf5, 1]), Code::BAD_REQUEST),
        (message_1.clone().with_payload(vec![0x41, 0x05, 0x40]), Code::BAD_REQUEST),
        (message_1.clone().with_payload(vec![0x05, 0x40]), Code::BAD_REQUEST),
    ] {
        assert_eq!(server.edhoc(&request).code, code.byte(), "{request:?}");
    }
    assert_eq!(server.responder().waiting(), 0);
    let mut combined = get("door");
    combined.add(number::EDHOC, []);
    assert_eq!(server.protected(&combined).0.code, Code::BAD_REQUEST.byte());
    // Other requests are for others.
    assert!(
        matches!(server.arrive(&get("edhoc"), Standing::Unproven), Arrived::Plain(request) if request == get("edhoc"))
    );
    server.layer.responder = None;
    assert!(matches!(server.arrive(&message_1, Standing::Unproven), Arrived::Plain(_)));
    assert!(matches!(server.arrive(&combined, Standing::Unproven), Arrived::Plain(_)));
}

#[test]
fn a_flood_of_first_messages_waits_in_few_places_and_has_to_prove_its_addresses() {
    let waiting = edhoc::Settings { places: 8, unproven: 3, ..edhoc::Settings::default() };
    let mut server = Server::new(Settings::default(), waiting, vec![x25519(&mut rng(1))]);
    let mut client = Client::new(x25519(&mut rng(2)), 3);
    let mut first = |server: &mut Server, host: u8, standing| {
        server.from = peer(host, 1000 + u16::from(host));
        let (_, message_1) = client.begin(Method::StaticKeys);
        server.arrive(&message_1, standing)
    };
    // Whoever writes others' addresses on its datagrams has three places with all of them.
    for host in 1..4 {
        assert!(matches!(first(&mut server, host, Standing::Unproven), Arrived::Answer(_)));
    }
    for host in 1..100 {
        assert!(matches!(first(&mut server, host, Standing::Unproven), Arrived::ProveAddress));
    }
    assert_eq!(server.responder().waiting(), 3);
    // Later they wait still, and there is no place for others of their kind.
    server.now = START + Duration::from_secs(2);
    assert!(matches!(first(&mut server, 4, Standing::Unproven), Arrived::ProveAddress));
    for host in 4..100 {
        server.now = server.now + Duration::from_millis(20);
        assert!(matches!(first(&mut server, host, Standing::Certain), Arrived::Answer(_)));
    }
    assert_eq!((server.responder().waiting(), server.responder().counters().begun), (8, 99));
    server.layer.expire(START + Duration::from_secs(60));
    assert_eq!((server.responder().waiting(), server.responder().counters().given_up), (0, 99));
}

/// For two seconds, a message comes every 200 microseconds from ports of one address, and every 50
/// milliseconds somebody else makes a handshake. Returns what the flood cost: the handshakes that
/// were begun for it.
fn flood_of_one_address(standing: Standing) -> u64 {
    let mut server = Server::of(vec![x25519(&mut rng(1))]);
    let (_, message_1) = Client::new(x25519(&mut rng(2)), 3).begin(Method::StaticKeys);
    let mut arrived = 0;
    for number in 0..10_000_u16 {
        server.now = START + Duration::from_micros(200) * u32::from(number);
        server.from = peer(1, 1000 + number);
        server.arrive(&message_1, standing);
        if number % 250 == 249 {
            arrived += 1;
            server.from = peer(2 + arrived, 1);
            let mut honest = Client::new(x25519(&mut rng(100 + u64::from(arrived))), 200);
            let (begun, message_1) = honest.begin(Method::StaticKeys);
            drop(begun);
            assert!(matches!(
                server.arrive(&message_1, Standing::Unproven),
                Arrived::ProveAddress | Arrived::Answer(_)
            ));
            honest.arrive(&mut server, Method::StaticKeys).expect("it is answered with Echo");
        }
    }
    assert_eq!(server.responder().counters().completed, u64::from(arrived));
    server.responder().counters().begun - u64::from(arrived)
}

#[test]
fn a_flood_of_one_address_costs_few_multiplications_and_others_make_their_handshakes() {
    // Eight a second, and what waits of them for half a minute.
    let unproven = flood_of_one_address(Standing::Unproven);
    assert!((1..=16).contains(&unproven), "{unproven} handshakes were begun");
    // With an address that it has: half of 128 a second.
    let proven = flood_of_one_address(Standing::Certain);
    assert!((64..=192).contains(&proven), "{proven} handshakes were begun");
}

/// Somebody writes the proven addresses of others on first messages, and never answers message_2.
#[test]
fn whoever_answers_an_echo_has_its_handshake_while_others_begin_some_in_its_name() {
    let mut server = Server::of(vec![x25519(&mut rng(1))]);
    let mut client = Client::new(x25519(&mut rng(2)), 3);
    let (_, forged) = Client::new(x25519(&mut rng(4)), 5).begin(Method::StaticKeys);
    let forge = |server: &mut Server, host: u8| {
        server.from = peer(host, 1);
        for _ in 0..64 {
            server.arrive(&forged, Standing::Proven);
        }
    };
    forge(&mut server, 7);
    server.from = peer(7, 1);
    // One that began before all places of their kind were taken has its own, however slow it is.
    let mut early = Client::new(x25519(&mut rng(6)), 7);
    server.now = START + Duration::from_secs(1);
    let (mut begun, message_1) = early.begin(Method::StaticKeys);
    let Arrived::Answer(message_2) = server.arrive(&message_1, Standing::Proven) else { panic!("a place") };
    for second in 2..25 {
        server.now = START + Duration::from_secs(second);
        for host in 1..=10 {
            forge(&mut server, host);
        }
        server.from = peer(7, 1);
        let (mut begun, message_1) = client.begin(Method::StaticKeys);
        assert!(matches!(server.arrive(&message_1, Standing::Proven), Arrived::ProveAddress));
        let message_2 = server.edhoc(&message_1);
        let met = begun.meet(&message_2, &client.own, &mut AnyByValue, &mut client.rng).expect("message_2");
        // It takes its time.
        server.now = server.now + Duration::from_millis(900);
        forge(&mut server, 7);
        met.confirm(&server.edhoc(&met.alone())).expect("its handshake waits");
    }
    let met = begun.meet(&message_2, &early.own, &mut AnyByValue, &mut early.rng).expect("message_2");
    met.confirm(&server.edhoc(&met.alone())).expect("its handshake waits");
    assert_eq!((server.responder().counters().busy, server.responder().waiting()), (0, 31));
}

#[test]
fn contexts_of_one_address_do_not_keep_strangers_of_others_out() {
    let settings = Settings { places: 8, ..Settings::default() };
    let mut server = Server::new(settings, edhoc::Settings::default(), vec![ed25519(&mut rng(1))]);
    let mut arrive = |host: u8, seed: u64| {
        server.from = peer(host, 1);
        Client::new(ed25519(&mut rng(seed)), seed).arrive(&mut server, Method::Signatures).map(drop)
    };
    for seed in 10..18 {
        arrive(1, seed).expect("a place");
    }
    arrive(1, 18).expect_err("all are in use, by the same address");
    for host in 2..5 {
        arrive(host, 20 + u64::from(host)).expect("the one that has most makes room");
    }
}

#[test]
fn strangers_take_no_place_from_whom_the_application_knows_or_who_is_at_work() {
    let settings = Settings { places: 3, per_device: 2, ..Settings::default() };
    let mut server = Server::new(settings, edhoc::Settings::default(), vec![ed25519(&mut rng(1))]);
    let arrive = |server: &mut Server, seed| {
        Client::new(ed25519(&mut rng(seed)), seed).arrive(server, Method::Signatures)
    };
    // One device has two contexts at most, however often it comes.
    for _ in 0..5 {
        arrive(&mut server, 10).expect("its own place");
    }
    assert_eq!(server.layer.contexts.len(), 2);
    arrive(&mut server, 11).expect("the third place");
    arrive(&mut server, 12).expect_err("all are in use");
    assert_eq!(server.layer.contexts.counters().full, 1);
    // Whom the application knows comes in at once, in the place that was unused for longest.
    let known = ed25519(&mut rng(20)).ccs().to_vec();
    server.policy = Box::new(Only(known));
    arrive(&mut server, 20).expect("known");
    server.policy = Box::new(AnyByValue);
    // After a while without use, a stranger comes in too.
    server.now = START + settings.idle;
    arrive(&mut server, 13).expect("nobody was there");
    // After their lifetime all end.
    server.now = START + settings.lifetime + settings.idle;
    server.layer.contexts.expire(server.now);
    assert!(server.layer.contexts.is_empty());
}

#[test]
fn a_context_is_renewed_before_it_ends_and_ends_with_its_keys() {
    let mut server = Server::of(vec![ed25519(&mut rng(1))]);
    let mut client = Client::new(ed25519(&mut rng(2)), 3);
    let (id, _) = client.arrive(&mut server, Method::Signatures).expect("an undisturbed handshake");
    let lifetime = Settings::default().lifetime;
    assert!(!client.contexts.is_due(id, START));
    assert!(client.contexts.is_due(id, START + lifetime / 4 * 3));
    server.now = START + lifetime;
    let sent = client.contexts.protect_request(START, id, get("door"), &mut NothingStored);
    let (outer, mut asked) = sent.expect("the client's clock is behind");
    let (answer, device) = server.protected(&outer);
    assert_eq!(device, None);
    assert_eq!(answer.code, Code::UNAUTHORIZED.byte());
    assert_eq!(client.contexts.unprotect_response(START, &mut asked, &answer), Err(Unopened::Unprotected));
    let (id, _) = client.arrive(&mut server, Method::Signatures).expect("a handshake anew");
    client.ask(id, None, &mut server).expect("new keys");
}
