//! Identities and statements are those of the second implementation, byte for byte
//! (`vectors/identity.json`), and thumbprints those of RFC 9679.

use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Command, Credential, Group, Identity, IdentityLabel, MAX_COSE_KEY_LEN,
    MAX_REQUEST_PROOF_LEN, Other, OtherKind, Pairing, PrivateKey, PublicKey, RequestDigest, RequestProof,
    Signer as _, To, UnverifiedCommand, UnverifiedRegistration, check_membership, check_possession,
    check_retirement, command, cose_key, open_pairing, pair, prove_membership, prove_possession, register,
    retire, sign_request, thumbprint,
};
use rand_core::utils::next_word_via_fill;
use rand_core::{Infallible, TryCryptoRng, TryRng};
use serde_json::Value;

fn vectors() -> Value {
    file("identity.json")
}

fn file(name: &str) -> Value {
    let path = format!("{}/../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(text(value)).unwrap()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    let list = value.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

struct Device {
    key: PrivateKey,
    others: Vec<(OtherKind, Vec<u8>)>,
}

impl Device {
    fn of(vector: &Value) -> Self {
        let algorithm = Algorithm::named(text(&vector["algorithm"])).unwrap();
        let key = PrivateKey::new(algorithm, Secret::new(array(&vector["secret"]))).unwrap();
        let others = vector["others"].as_array().unwrap().iter().map(|other| {
            let kind = u8::try_from(other["kind"].as_u64().unwrap()).unwrap();
            (OtherKind::of_number(kind).unwrap(), bytes(&other["value"]))
        });
        Self { key, others: others.collect() }
    }

    fn parts(&mut self) -> (&mut PrivateKey, Credential<'_>) {
        let others: Vec<_> = self.others.iter().map(|(kind, value)| Other { kind: *kind, value }).collect();
        let credential = Credential::new(self.key.public_key(), &others).unwrap();
        (&mut self.key, credential)
    }

    fn identity(&mut self) -> Identity {
        self.parts().1.identity().unwrap()
    }
}

fn devices(vectors: &Value) -> Vec<Device> {
    list(&vectors["devices"]).iter().map(Device::of).collect()
}

fn place(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[test]
fn identities_are_those_of_the_second_implementation() {
    let vectors = vectors();
    for vector in list(&vectors["devices"]) {
        let name = text(&vector["name"]);
        let mut device = Device::of(vector);
        let identity = device.identity();
        assert_eq!(device.key.public_key().as_bytes(), bytes(&vector["public"]), "{name}");
        assert_eq!(identity.as_bytes()[..], bytes(&vector["identity"]), "{name}");
        let others = device.others.iter().flat_map(|(_, value)| value.clone()).collect::<Vec<_>>();
        let raw = Identity::raw(device.key.public_key().as_bytes(), &others);
        assert_eq!(raw.as_bytes()[..], bytes(&vector["rfc8387_identity"]), "{name}");
        for vector in list(&vector["temporary"]) {
            let period = text(&vector["period"]).parse().unwrap();
            assert_eq!(identity.temporary(period)[..], bytes(&vector["identity"]), "{name}, {period}");
        }
        let mut cose = [0; MAX_COSE_KEY_LEN];
        let len = cose_key(&device.key.public_key(), &mut cose);
        assert_eq!(cose[..len], bytes(&vector["cose_key"]), "{name}");
        assert_eq!(thumbprint(&device.key.public_key())[..], bytes(&vector["thumbprint"]), "{name}");
        let labels = [IdentityLabel::Full(identity), IdentityLabel::Short(identity.short())];
        assert_eq!(labels.map(|label| label.to_string()), [text(&vector["qr"]), text(&vector["qr_short"])]);
    }
}

#[test]
fn groups_and_proofs_of_membership_are_those_of_the_second_implementation() {
    let vectors = vectors();
    let mut devices = devices(&vectors);
    for vector in list(&vectors["groups"]) {
        let mut keys: Vec<_> =
            list(&vector["devices"]).iter().map(|device| devices[place(device)].key.public_key()).collect();
        let group = Group::of(&mut keys).unwrap();
        let identity = Identity::from_bytes(array(&vector["identity"]));
        assert_eq!(group.identity(), identity);
        let (challenge, audience) = (array(&vector["challenge"]), text(&vector["audience"]));
        let audience = Audience::new(audience).unwrap();
        for vector in list(&vector["members"]) {
            let device = &mut devices[place(&vector["device"])];
            let key = device.key.public_key();
            assert_eq!(group.member_identity(&key).unwrap().as_bytes()[..], bytes(&vector["identity"]));
            let expected = bytes(&vector["membership"]);
            let mut proof = [0; 1024];
            let len = prove_membership(device.parts().0, &group, &challenge, audience, &mut proof).unwrap();
            assert_eq!(proof[..len], expected);
            let mut places = group.keys().to_vec();
            let checked = check_membership(&expected, &identity, &challenge, audience, &mut places);
            assert_eq!(checked.unwrap().0, key);
        }
    }
}

#[test]
fn proofs_of_possession_are_those_of_the_second_implementation() {
    let vectors = vectors();
    let mut devices = devices(&vectors);
    for vector in list(&vectors["possessions"]) {
        let device = &mut devices[place(&vector["device"])];
        let identity = device.identity();
        let (challenge, audience) =
            (array(&vector["challenge"]), Audience::new(text(&vector["audience"])).unwrap());
        let (key, credential) = device.parts();
        let mut proof = [0; 1024];
        let len = prove_possession(key, &credential, &challenge, audience, &mut proof).unwrap();
        let expected = bytes(&vector["possession"]);
        assert_eq!(proof[..len], expected);
        let checked = check_possession(&expected, &identity, &challenge, audience).unwrap();
        assert!(checked.others().eq(credential.others()));
    }
}

#[test]
fn retirements_and_registrations_are_those_of_the_second_implementation() {
    let vectors = vectors();
    for vector in list(&vectors["retirements"]) {
        let (mut old, mut new) = (devices(&vectors), devices(&vectors));
        let (old, new) = (&mut old[place(&vector["before"])], &mut new[place(&vector["after"])]);
        let (before, after) = (old.identity(), new.identity());
        let ((old_key, old_credential), (new_key, new_credential)) = (old.parts(), new.parts());
        let mut statement = [0; 2048];
        let len = retire(old_key, &old_credential, new_key, &new_credential, &mut statement).unwrap();
        let expected = bytes(&vector["retirement"]);
        assert_eq!(statement[..len], expected);
        assert_eq!(check_retirement(&expected, &before).unwrap().0, after);
    }
    let mut devices = devices(&vectors);
    for vector in list(&vectors["registrations"]) {
        let device = &mut devices[place(&vector["device"])];
        let (identity, public) = (device.identity(), device.key.public_key());
        let sequence = text(&vector["sequence"]).parse().unwrap();
        let audience = Audience::new(text(&vector["audience"])).unwrap();
        let whole = vector["whole"].as_bool().unwrap();
        let (key, credential) = device.parts();
        let mut statement = [0; 1024];
        let len = register(key, &credential, whole, sequence, audience, &mut statement).unwrap();
        let expected = bytes(&vector["registration"]);
        assert_eq!(statement[..len], expected);
        let parsed = UnverifiedRegistration::parse(&expected).unwrap();
        let known = (!whole).then_some(&public);
        assert_eq!(parsed.verify(&identity, known, audience).unwrap().sequence, sequence);
    }
}

#[test]
fn signed_requests_are_those_of_the_second_implementation() {
    let vectors = vectors();
    let mut devices = devices(&vectors);
    for vector in list(&vectors["requests"]) {
        let device = &mut devices[place(&vector["device"])];
        let (identity, public) = (device.identity(), device.key.public_key());
        let sequence = text(&vector["sequence"]).parse().unwrap();
        let audience = Audience::new(text(&vector["audience"])).unwrap();
        let strings =
            |name: &str| -> Vec<&str> { vector[name].as_array().unwrap().iter().map(text).collect() };
        let method = u8::try_from(vector["method"].as_u64().unwrap()).unwrap();
        let payload = text(&vector["payload"]).as_bytes();
        let digest = RequestDigest::of(method, &strings("path"), &strings("query"), payload).unwrap();
        assert_eq!(digest.as_bytes()[..], bytes(&vector["digest"]));
        let mut proof = [0; MAX_REQUEST_PROOF_LEN + 32];
        let len = sign_request(&mut device.key, &identity, sequence, &digest, audience, &mut proof).unwrap();
        let expected = bytes(&vector["proof"]);
        assert_eq!(proof[..len], expected);
        assert!(len <= MAX_REQUEST_PROOF_LEN);
        let parsed = RequestProof::parse(&expected).unwrap();
        assert_eq!(parsed.verify(&identity, &public, &digest, audience), Ok(sequence));
    }
}

#[test]
fn the_thumbprint_is_that_of_rfc_9679() {
    // RFC 9679, section 6.
    let x = "65eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d";
    let y = "1e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c";
    // Compressed: y is even.
    let key = PublicKey::new(Algorithm::Es256, &hex::decode(format!("02{x}")).unwrap()).unwrap();
    assert_eq!(hex::encode(key.coordinates().unwrap().1), y);
    let expected = "496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec";
    assert_eq!(hex::encode(thumbprint(&key)), expected);
}

/// A generator of the one secret that a vector has.
struct Given([u8; 32]);

impl TryRng for Given {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }
    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
        to.copy_from_slice(&self.0[..to.len()]);
        Ok(())
    }
}

impl TryCryptoRng for Given {}

#[test]
fn pairings_are_those_of_the_second_implementation() {
    let mut devices = devices(&vectors());
    for vector in list(&file("pairing.json")["pairings"]) {
        let bound = devices[place(&vector["device"])].identity();
        let public = devices[place(&vector["device"])].key.public_key();
        let (signer, server) = devices[place(&vector["server"])].parts();
        let pairing = Pairing {
            server,
            sequence: text(&vector["sequence"]).parse().unwrap(),
            audience: Audience::new(text(&vector["audience"])).unwrap(),
            place: text(&vector["place"]),
            purpose: text(&vector["purpose"]),
        };
        let mut out = [0; 1024];
        let mut given = Given(array(&vector["ephemeral"]));
        let to = To { identity: &bound, key: &public };
        let len = pair(signer, &pairing, to, &mut given, &mut out).unwrap();
        assert_eq!(hex::encode(&out[..len]), text(&vector["pairing"]));
        let server = server.identity().unwrap();
        let opened = open_pairing(&devices[place(&vector["device"])].key, &bound, &mut out[..len]).unwrap();
        assert_eq!((opened.server.identity().unwrap(), opened.place), (server, text(&vector["place"])));
    }
}

#[test]
fn commands_are_those_of_the_second_implementation() {
    let mut devices = devices(&vectors());
    for vector in list(&file("pairing.json")["commands"]) {
        let bound = devices[place(&vector["device"])].identity();
        let (signer, server) = devices[place(&vector["server"])].parts();
        let (name, key) = (server.identity().unwrap(), *server.key());
        let audience = Audience::new(text(&vector["audience"])).unwrap();
        let senml = bytes(&vector["senml"]);
        let said = Command { sequence: text(&vector["sequence"]).parse().unwrap(), senml: &senml };
        let whole = vector["whole"].as_bool().unwrap();
        let mut out = [0; 1024];
        let len = command(signer, &server, whole, &bound, audience, said, &mut out).unwrap();
        assert_eq!(hex::encode(&out[..len]), text(&vector["command"]));
        let parsed = UnverifiedCommand::parse(&out[..len]).unwrap();
        assert_eq!(parsed.verify(&bound, &name, Some(&key), audience), Ok(said));
    }
}
