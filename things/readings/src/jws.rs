//! Signed readings as JWS (RFC 7515), for those who read JSON: the twin of the compact reading
//! (`docs/spec/reading-jws.md`).
//!
//! ```text
//! Pack ── seal(number, never used before) ──▶ header.payload.signature ── any path
//!                                                        │
//! Freshness::admit ◀── Verified ◀── verify(key, identity, number) ◀── open
//! ```

use std::fmt;

use crate::signature;
use motemix_object::{
    Algorithm, Audience, Identity, KeyId, ObjectError, PublicKey, Reserved, SIGNATURE_LEN, Sealer, Signer,
    Twin, Verified, reading_context,
};
use serde_json::value::RawValue;

use crate::base64url;
use crate::senml::{MAX_PACK_LEN, Pack, members};

/// The header parameter that binds a reading to its device, number and audience.
pub const CONTEXT: &str = "motemix/1 context";
/// The longest header, in base64: its parameters are compared with each other.
const MAX_HEADER_LEN: usize = 2048;
/// The longest text: a header, a pack and a signature.
pub const MAX_JWS_LEN: usize = MAX_HEADER_LEN + MAX_PACK_LEN / 3 * 4 + 128;

/// Signs one pack of SenML under a number that was never used before.
///
/// # Errors
/// [`ObjectError::Signer`].
#[expect(clippy::needless_pass_by_value, reason = "a number is used once")]
pub fn seal<S: Signer + ?Sized>(
    sealer: &mut Sealer<'_, S>,
    sequence: Reserved,
    pack: &Pack,
) -> Result<String, ObjectError> {
    let sequence = sequence.number();
    let context = reading_context(&sealer.identity, sequence, sealer.audience);
    let key_id = sealer.key_id(sequence);
    let key_id = key_id.as_bytes().iter().map(|byte| format!("{byte:02x}"));
    let header = format!(
        r#"{{"alg":"{}","crit":["{CONTEXT}"],"cty":"senml+json","kid":"{}","{CONTEXT}":"{}"}}"#,
        algorithm_name(sealer.signer.public_key().algorithm()),
        key_id.collect::<String>(),
        base64url::encode(&context),
    );
    sign(sealer.signer, &header, pack.to_json().as_bytes())
}

/// The compact serialisation (RFC 7515, 7.1).
fn sign<S: Signer + ?Sized>(signer: &mut S, header: &str, payload: &[u8]) -> Result<String, ObjectError> {
    let input = format!("{}.{}", base64url::encode(header.as_bytes()), base64url::encode(payload));
    let mut signature = [0; SIGNATURE_LEN];
    signer.sign(&[input.as_bytes()], &mut signature).map_err(|_| ObjectError::Signer)?;
    signer.public_key().algorithm().make_canonical(&mut signature);
    Ok(format!("{input}.{}", base64url::encode(&signature)))
}

/// Takes a reading apart. White space around it is not of it: whoever takes a text from a file or
/// from a person leaves it out first.
///
/// # Errors
/// It is no JWS in compact serialisation, or none that is a reading in its one form.
pub fn open(text: &str) -> Result<SealedJws<'_>, JwsError> {
    let jws = Compact::parse(text)?;
    if !jws.header.algorithm.is_canonical(&jws.signature) {
        return Err(JwsError::SignatureForm);
    }
    let key_id = jws.header.key_id.as_deref().and_then(key_id).ok_or(JwsError::KeyId)?;
    let context = jws.header.context.ok_or(JwsError::Context)?;
    Ok(SealedJws { jws, key_id, context })
}

/// A reading whose shape is right, and whose signature nobody has checked.
#[derive(Debug)]
pub struct SealedJws<'t> {
    jws: Compact<'t>,
    key_id: KeyId,
    context: [u8; 32],
}

impl SealedJws<'_> {
    /// The SenML, which anybody may have written.
    pub fn unverified_senml(&self) -> &[u8] {
        &self.jws.payload
    }

    /// The hint which key signed it under which number.
    pub const fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// How it was signed.
    pub const fn algorithm(&self) -> Algorithm {
        self.jws.header.algorithm
    }

    /// Checks the signature for a device, a number and an audience.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify(
        &self,
        key: &PublicKey,
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'_>, ObjectError> {
        // The algorithm is the key's, and not the header's to choose (RFC 8725, 3.1).
        if key.algorithm() != self.jws.header.algorithm {
            return Err(ObjectError::Signature);
        }
        let twin = Twin {
            signed: self.jws.signed.as_bytes(),
            signature: &self.jws.signature,
            context: self.context,
            senml: &self.jws.payload,
        };
        twin.verify_by(key, identity, sequence, audience, signature::verifies)
    }
}

/// A part of the compact serialisation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JwsPart {
    /// The protected header.
    Header,
    /// The payload.
    Payload,
    /// The signature.
    Signature,
}

impl fmt::Display for JwsPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the header",
            Self::Payload => "the payload",
            Self::Signature => "the signature",
        })
    }
}

/// Why a text is no reading as JWS.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JwsError {
    /// It is longer than [`MAX_JWS_LEN`], or its header than 2,048 bytes.
    TooLong,
    /// It has not three parts with points between them.
    Parts,
    /// A part is not in base64url without padding.
    Base64(JwsPart),
    /// The signature has another length than 64 bytes.
    SignatureLen,
    /// The s of an ES256 signature is above half of the group's order: anybody can compute such a
    /// one from the signature that a device made.
    SignatureForm,
    /// The header is no JSON object of parameters that stand once and have their types; which one.
    Header(String),
    /// The algorithm is none of `EdDSA`, `Ed25519` and `ES256`.
    Algorithm,
    /// A parameter that has to be understood (RFC 7515, 4.1.11), and is not.
    Critical(String),
    /// There is no key id of six bytes in hexadecimal.
    KeyId,
    /// There is no [`CONTEXT`] of 32 bytes that `crit` names.
    Context,
}

impl fmt::Display for JwsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no signed reading as JWS: ")?;
        match self {
            Self::TooLong => {
                write!(f, "longer than {MAX_JWS_LEN} bytes, or its header than {MAX_HEADER_LEN}")
            }
            Self::Parts => f.write_str("not header, payload and signature with points between them"),
            Self::Base64(part) => write!(f, "{part} is not base64url without padding"),
            Self::SignatureLen => write!(f, "the signature has not {SIGNATURE_LEN} bytes"),
            Self::SignatureForm => {
                f.write_str("the s of the signature is above half of the group's order; sign with n - s")
            }
            Self::Header(which) => write!(f, "the header: {which}"),
            Self::Algorithm => f.write_str("the algorithm is none of EdDSA, Ed25519 and ES256"),
            Self::Critical(which) => write!(f, "the header's {which:?} has to be understood, and is not"),
            Self::KeyId => write!(f, "\"kid\" is not {} bytes in hexadecimal", KeyId::LEN),
            Self::Context => write!(f, "no {CONTEXT:?} of 32 bytes that \"crit\" names"),
        }
    }
}

impl std::error::Error for JwsError {}

/// What RFC 7518 (3.1) and RFC 8037 (3.1) call them.
const fn algorithm_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Ed25519 => "EdDSA",
        Algorithm::Es256 => "ES256",
    }
}

fn algorithm_named(name: &str) -> Option<Algorithm> {
    match name {
        // RFC 9864 (2.2) calls it by its curve.
        "EdDSA" | "Ed25519" => Some(Algorithm::Ed25519),
        "ES256" => Some(Algorithm::Es256),
        _ => None,
    }
}

fn key_id(digits: &str) -> Option<KeyId> {
    let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 2 * KeyId::LEN || !is_hex {
        return None;
    }
    let (pairs, _) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    KeyId::from_slice(&bytes.collect::<Option<Vec<_>>>()?)
}

/// A JWS in compact serialisation with a header that is understood.
#[derive(Debug)]
struct Compact<'t> {
    header: Header,
    /// The ASCII text that the signature is over (RFC 7515, 5.1).
    signed: &'t str,
    payload: Vec<u8>,
    signature: [u8; SIGNATURE_LEN],
}

impl<'t> Compact<'t> {
    fn parse(text: &'t str) -> Result<Self, JwsError> {
        if text.len() > MAX_JWS_LEN {
            return Err(JwsError::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(JwsError::Parts)?;
        let (header, payload) = signed.split_once('.').ok_or(JwsError::Parts)?;
        if payload.contains('.') {
            return Err(JwsError::Parts);
        }
        if header.len() > MAX_HEADER_LEN {
            return Err(JwsError::TooLong);
        }
        let decoded = |text, part| base64url::decode(text).ok_or(JwsError::Base64(part));
        let header = decoded(header, JwsPart::Header)?;
        let payload = decoded(payload, JwsPart::Payload)?;
        let signature = decoded(signature, JwsPart::Signature)?;
        let signature = signature.try_into().map_err(|_| JwsError::SignatureLen)?;
        Ok(Self { header: Header::parse(&header)?, signed, payload, signature })
    }
}

#[derive(Debug)]
struct Header {
    algorithm: Algorithm,
    key_id: Option<String>,
    /// There only if `crit` names it.
    context: Option<[u8; 32]>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, JwsError> {
        let no_object = || JwsError::Header("not a JSON object".to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| no_object())?;
        let members = members(text).ok_or_else(no_object)?;
        let (mut algorithm, mut key_id, mut context, mut critical) = (None, None, None, None);
        for (at, (name, value)) in members.iter().enumerate() {
            if members.iter().take(at).any(|(before, _)| before == name) {
                return Err(JwsError::Header(format!("{:?} twice", shortened(name))));
            }
            match name.as_str() {
                "alg" => algorithm = Some(text_of(name, value)?),
                "kid" => key_id = Some(text_of(name, value)?),
                CONTEXT => context = Some(text_of(name, value)?),
                "crit" => critical = Some(names_of(name, value)?),
                _ => {}
            }
        }
        // An empty list says nothing, and is not allowed (RFC 7515, 4.1.11).
        let critical = match critical {
            Some(names) if names.is_empty() => return Err(JwsError::Header("\"crit\" is empty".to_owned())),
            names => names.unwrap_or_default(),
        };
        if let Some(unknown) = critical.iter().find(|name| *name != CONTEXT) {
            return Err(JwsError::Critical(shortened(unknown)));
        }
        let algorithm = algorithm.as_deref().and_then(algorithm_named).ok_or(JwsError::Algorithm)?;
        let context = match (context, critical.as_slice()) {
            (None, []) => None,
            (Some(context), [_]) => {
                let context = base64url::decode(&context).and_then(|bytes| bytes.try_into().ok());
                Some(context.ok_or(JwsError::Context)?)
            }
            // One without the other, or named twice.
            _ => return Err(JwsError::Context),
        };
        Ok(Self { algorithm, key_id, context })
    }
}

fn text_of(name: &str, value: &RawValue) -> Result<String, JwsError> {
    serde_json::from_str(value.get()).map_err(|_| JwsError::Header(format!("{name:?} is not a text")))
}

fn names_of(name: &str, value: &RawValue) -> Result<Vec<String>, JwsError> {
    serde_json::from_str(value.get())
        .map_err(|_| JwsError::Header(format!("{name:?} is not a list of names")))
}

fn shortened(name: &str) -> String {
    name.chars().take(32).collect()
}

#[cfg(test)]
mod tests;
