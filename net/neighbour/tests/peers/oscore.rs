//! OSCORE (RFC 8613) with AES-CCM-16-64-128 and SHA-256, as much as one request after another
//! needs: no observations, no context identifiers, and no window, for nobody repeats anything.

use coap_lite::{CoapOption, MessageClass, Packet, RequestType, ResponseType};
use hkdf::Hkdf;
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::Session;
use motemix_neighbour::suite::{Aes as _, KEY_LEN, NONCE_LEN, SoftwareAes, TAG_LEN};
use sha2::Sha256;

use crate::neighbours::exported;

/// COSE's number of AES-CCM-16-64-128.
const ALGORITHM: u8 = 10;
/// Partial IVs of one byte are enough here.
const PARTIAL_IV_LEN: usize = 1;
/// In the option's first byte: a key identifier follows.
const HAS_KID: u8 = 0x08;

#[derive(Debug, PartialEq)]
pub struct NotProtected;

/// By what a response names its request.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestId {
    kid: Vec<u8>,
    partial_iv: u8,
}

pub struct Context {
    sender: Vec<u8>,
    recipient: Vec<u8>,
    sender_key: Secret<KEY_LEN>,
    recipient_key: Secret<KEY_LEN>,
    common_iv: [u8; NONCE_LEN],
    /// The partial IV of the next request.
    pub next: u8,
}

/// A byte string of less than 24 bytes in CBOR; a longer one takes two bytes in front.
fn byte_string(bytes: &[u8]) -> Vec<u8> {
    let len = u8::try_from(bytes.len()).expect("short");
    let head = if len < 24 { vec![0x40 | len] } else { vec![0x58, len] };
    [head, bytes.to_vec()].concat()
}

impl Context {
    /// As a handshake's two sides have it (RFC 9528, appendix A.1): each sends under the name that
    /// the peer chose.
    pub fn of(session: &Session) -> Self {
        let [sender, recipient] = [session.peer_connection(), session.own_connection()];
        let (secret, salt) = (exported(session, 0, b"", 16), exported(session, 1, b"", 8));
        Self::new(&secret, &salt, sender.as_bytes(), recipient.as_bytes())
    }

    pub fn new(secret: &[u8], salt: &[u8], sender: &[u8], recipient: &[u8]) -> Self {
        let hkdf = Hkdf::<Sha256>::new(Some(salt), secret);
        // [id, id_context, alg_aead, type, L] (section 3.2.1).
        let expand = |id: &[u8], kind: &[u8], out: &mut [u8]| {
            let len = u8::try_from(out.len()).expect("short");
            let kind_head = 0x60 | kind.len() as u8;
            let info = [&[0x85][..], &byte_string(id), &[0xf6, ALGORITHM, kind_head], kind, &[len]].concat();
            hkdf.expand(&info, out).expect("short");
        };
        let [mut sender_key, mut recipient_key] = [(); 2].map(|()| Secret::zero());
        expand(sender, b"Key", sender_key.expose_mut());
        expand(recipient, b"Key", recipient_key.expose_mut());
        let mut common_iv = [0; NONCE_LEN];
        expand(b"", b"IV", &mut common_iv);
        let [sender, recipient] = [sender, recipient].map(<[u8]>::to_vec);
        Self { sender, recipient, sender_key, recipient_key, common_iv, next: 0 }
    }

    /// Section 5.2. A response has the nonce of its request.
    fn nonce(&self, id: &RequestId) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        nonce[0] = id.kid.len() as u8;
        nonce[8 - id.kid.len()..8].copy_from_slice(&id.kid);
        nonce[NONCE_LEN - 1] = id.partial_iv;
        nonce.iter_mut().zip(self.common_iv).for_each(|(byte, iv)| *byte ^= iv);
        nonce
    }

    /// Section 5.4: ["Encrypt0", h'', h'[1, [algorithm], request_kid, request_piv, h'']'].
    fn associated(id: &RequestId) -> Vec<u8> {
        let external = [
            &[0x85, 0x01, 0x81, ALGORITHM][..],
            &byte_string(&id.kid),
            &byte_string(&[id.partial_iv]),
            &[0x40],
        ];
        [&b"\x83\x68Encrypt0\x40"[..], &byte_string(&external.concat())].concat()
    }

    fn seal(&self, id: &RequestId, inner: &Packet) -> Vec<u8> {
        // A CoAP message without its header, but for the code (section 5.3).
        let mut text = vec![u8::from(inner.header.code)];
        text.extend(&inner.to_bytes().expect("a short packet")[4..]);
        let tag = SoftwareAes.seal(&self.sender_key, &self.nonce(id), &Self::associated(id), &mut text);
        text.extend(tag.expect("a short packet"));
        text
    }

    fn open(&self, id: &RequestId, sealed: &[u8]) -> Result<Packet, NotProtected> {
        let (text, tag) = sealed.split_last_chunk::<TAG_LEN>().ok_or(NotProtected)?;
        let mut text = text.to_vec();
        SoftwareAes
            .open(&self.recipient_key, &self.nonce(id), &Self::associated(id), &mut text, tag)
            .map_err(|_| NotProtected)?;
        let (code, rest) = text.split_first().expect("who has the key sends a code");
        let packet = [&[0x40, *code, 0, 0], rest].concat();
        Ok(Packet::from_bytes(&packet).expect("who has the key sends CoAP"))
    }

    /// A request that goes to no resource which anybody but the server sees.
    pub fn protect_request(&mut self, inner: &Packet) -> (Packet, RequestId) {
        let id = RequestId { kid: self.sender.clone(), partial_iv: self.next };
        self.next += 1;
        let mut outer = Packet::new();
        outer.header.code = MessageClass::Request(RequestType::Post);
        let option = [&[HAS_KID | PARTIAL_IV_LEN as u8, id.partial_iv], &id.kid[..]].concat();
        outer.add_option(CoapOption::Oscore, option);
        outer.payload = self.seal(&id, inner);
        (outer, id)
    }

    pub fn open_request(&self, outer: &Packet) -> Result<(Packet, RequestId), NotProtected> {
        let option = outer.get_first_option(CoapOption::Oscore).ok_or(NotProtected)?;
        let [flags, partial_iv, kid @ ..] = &option[..] else { return Err(NotProtected) };
        if *flags != HAS_KID | PARTIAL_IV_LEN as u8 || *kid != self.recipient[..] {
            return Err(NotProtected);
        }
        let id = RequestId { kid: kid.to_vec(), partial_iv: *partial_iv };
        Ok((self.open(&id, &outer.payload)?, id))
    }

    pub fn protect_response(&self, id: &RequestId, inner: &Packet) -> Packet {
        let mut outer = Packet::new();
        outer.header.code = MessageClass::Response(ResponseType::Changed);
        outer.add_option(CoapOption::Oscore, vec![]);
        outer.payload = self.seal(id, inner);
        outer
    }

    pub fn open_response(&self, id: &RequestId, outer: &Packet) -> Result<Packet, NotProtected> {
        match outer.get_first_option(CoapOption::Oscore) {
            Some(option) if option.is_empty() => self.open(id, &outer.payload),
            _ => Err(NotProtected),
        }
    }
}
