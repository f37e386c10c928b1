//! What a server tells a device to do (RFC 8387, 4.1): SenML that is signed for one device, with a
//! number that is used once (`docs/spec/pairing.md`).

use minicbor::Decoder;
use minicbor::data::Type;

use crate::credential::Credential;
use crate::external::{Audience, Purpose};
use crate::identity::Identity;
use crate::key::{PublicKey, Signer};
use crate::labelled::first;
use crate::sign1::{ObjectError, Part, Sign1, end, expect, take};
use crate::statement::{is_of, sign_built};

/// Bytes of a server's identity that a command names it by.
pub const SENDER_LEN: usize = 4;

/// A command whose signature holds. Whether its number is new is not yet known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command<'b> {
    /// The server's number.
    pub sequence: u64,
    /// What to do: a pack of SenML in CBOR.
    pub senml: &'b [u8],
}

/// Signs a command for a device. With `whole`, the server's credential is in it, for a device that
/// has nothing of it but the identity.
///
/// # Errors
/// [`ObjectError::Room`] and [`ObjectError::Signer`].
pub fn command<S: Signer + ?Sized>(
    signer: &mut S,
    server: &Credential<'_>,
    whole: bool,
    device: &Identity,
    audience: Audience<'_>,
    command: Command<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let (identity, number, mut length) = (server.identity()?, command.sequence.to_be_bytes(), [0; 2]);
    let external = Purpose::COMMAND.external(device, &number, audience, &mut length);
    sign_built(signer, &external, out, |encoder| {
        let room = |_| ObjectError::Room;
        encoder.array(3).map_err(room)?.u64(command.sequence).map_err(room)?;
        if whole {
            server.write(encoder)?;
        } else {
            encoder.bytes(&first::<SENDER_LEN>(identity.as_bytes())).map_err(room)?;
        }
        encoder.bytes(command.senml).map(|_| ()).map_err(room)
    })
}

/// A command before anybody has looked whose it is.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedCommand<'b> {
    object: Sign1<'b>,
    command: Command<'b>,
    credential: Option<Credential<'b>>,
    sender: [u8; SENDER_LEN],
}

impl<'b> UnverifiedCommand<'b> {
    /// # Errors
    /// [`ObjectError::Malformed`], and [`ObjectError::Room`] if a value beside the key is too long.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        let object = Sign1::parse(bytes)?;
        let mut decoder = Decoder::new(object.unverified_payload());
        expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(3)))?;
        let sequence = take(&mut decoder, Part::Sequence, Decoder::u64)?;
        let kind = take(&mut decoder, Part::Credential, |decoder| decoder.datatype())?;
        let (credential, sender) = if kind == Type::Bytes {
            let malformed = ObjectError::malformed(Part::Credential, decoder.position());
            let sender = take(&mut decoder, Part::Credential, Decoder::bytes)?;
            (None, sender.try_into().map_err(|_| malformed)?)
        } else {
            let credential = Credential::read(&mut decoder)?;
            let identity = credential.identity()?;
            (Some(credential), first(identity.as_bytes()))
        };
        let senml = take(&mut decoder, Part::Payload, Decoder::bytes)?;
        end(&decoder)?;
        Ok(Self { object, command: Command { sequence, senml }, credential, sender })
    }

    /// The first bytes of the identity that it says to be of.
    pub const fn sender(&self) -> [u8; SENDER_LEN] {
        self.sender
    }

    /// The server's key and what stands beside it, if they are in it.
    pub const fn credential(&self) -> Option<&Credential<'b>> {
        self.credential.as_ref()
    }

    /// The number that it says to have: looked at first, so that a replay costs no check of a
    /// signature.
    pub const fn sequence(&self) -> u64 {
        self.command.sequence
    }

    /// What it commands, for whoever shows it and obeys nothing.
    pub const fn unverified_senml(&self) -> &'b [u8] {
        self.command.senml
    }

    /// Checks it for this device, with the key that is in it if that is of `server`, or else with
    /// `known`.
    ///
    /// # Errors
    /// [`ObjectError::Identity`] if the key is another or there is none, and
    /// [`ObjectError::Signature`].
    pub fn verify(
        &self,
        device: &Identity,
        server: &Identity,
        known: Option<&PublicKey>,
        audience: Audience<'_>,
    ) -> Result<Command<'b>, ObjectError> {
        let key = match &self.credential {
            Some(credential) => {
                is_of(credential, server)?;
                credential.key()
            }
            None => {
                known.filter(|_| server.as_bytes().starts_with(&self.sender)).ok_or(ObjectError::Identity)?
            }
        };
        let (number, mut length) = (self.command.sequence.to_be_bytes(), [0; 2]);
        self.object.verify(key, &Purpose::COMMAND.external(device, &number, audience, &mut length))?;
        Ok(self.command)
    }
}
