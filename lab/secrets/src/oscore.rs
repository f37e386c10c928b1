//! OSCORE under a preshared secret, up to where a message is open: what is in it is then read.

use motemix_coap::Method;
use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{
    Context, ContextId, Contexts, ECHO_LEN, Message, NotStored, NumberStore, Numbers, Preshared, Settings,
};
use motemix_time::Instant;

use crate::trial::{Expected, Operation};

const NOW: Instant = Instant::from_micros(1);
const SECRET: [u8; 16] = *b"a master secret.";
const ECHO: [u8; ECHO_LEN] = *b"an echo.";
const TAG_LEN: usize = 8;
const NAMES: [&[u8]; 2] = [&[1], &[2]];

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "OSCORE: derive a context, protect a request",
        secret: "master secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let (mut client, id) = side(trial.secret(SECRET).expose(), 0, None);
            ask(&mut client, id, None).payload
        },
    },
    Operation {
        name: "OSCORE: refuse a request whose tag is wrong in one byte",
        secret: "master secret",
        expected: Expected::Disclosed,
        variants: TAG_LEN,
        run: |trial| {
            let (mut client, id) = side(&SECRET, 0, None);
            let mut request = ask(&mut client, id, None);
            let at = request.payload.len() - TAG_LEN + trial.variant();
            request.payload[at] ^= 1;
            let (mut server, _) = side(trial.secret(SECRET).expose(), 1, None);
            vec![u8::from(server.unprotect_request(NOW, &request, &mut Disk).is_ok())]
        },
    },
    Operation {
        name: "OSCORE: refuse an Echo value that is wrong in one byte",
        secret: "Echo value",
        expected: Expected::Disclosed,
        variants: ECHO_LEN,
        run: |trial| {
            let mut wrong = ECHO;
            wrong[trial.variant()] ^= 1;
            let (mut client, id) = side(&SECRET, 0, None);
            let request = ask(&mut client, id, Some(wrong));
            let (mut server, _) = side(&SECRET, 1, Some(*trial.secret(ECHO).expose()));
            vec![u8::from(server.unprotect_request(NOW, &request, &mut Disk).is_ok())]
        },
    },
];

struct Disk;

impl NumberStore for Disk {
    fn reserve(&mut self, _: &str, _: u64) -> Result<(), NotStored> {
        Ok(())
    }
}

fn side(master_secret: &[u8; 16], which: usize, echo: Option<[u8; ECHO_LEN]>) -> (Contexts, ContextId) {
    let given = Preshared {
        name: "door",
        master_secret,
        master_salt: b"salt",
        id_context: None,
        sender: NAMES[which],
        recipient: NAMES[1 - which],
    };
    let mut contexts = Contexts::new(Settings::default());
    let context = Context::preshared(NOW, &given, Numbers::restored(0, 8), echo).expect("sound");
    let id = contexts.insert(NOW, context).expect("a place");
    (contexts, id)
}

fn ask(client: &mut Contexts, id: ContextId, echo: Option<[u8; ECHO_LEN]>) -> Message {
    let mut request = Message::new(Method::Put.byte()).with_payload(*b"open");
    request.add(number::URI_PATH, "door");
    if let Some(echo) = echo {
        request.add(number::ECHO, echo);
    }
    client.protect_request(NOW, id, request, &mut Disk).expect("a number").0
}
