//! The credentials that a handshake proves, by name or by value.

use crate::edhoc::credential::{Credential, CredentialId, OwnCredential, OwnKey, PeerCredential, PeerKey};
use crate::edhoc::{Ccs, CipherSuite, Refused};

use super::{Admission, Admitted, HandshakeDrop, Identity, MAX_MESSAGE_BY_VALUE, Peer};

/// Bytes of a Claims Set with a key of 32 bytes, or of twice as many.
const MAX_CREDENTIAL: usize = 96;

/// The credential of a key, written to `out`.
fn credential<'o>(public: &Admitted, out: &'o mut [u8; MAX_CREDENTIAL]) -> Result<Credential<'o>, Refused> {
    let ccs = Ccs { subject: None, kid: Some(&[public.kid]), key: public.key }.emit(out)?;
    Credential::ccs(ccs)
}

/// Calls `then` with this node's own credential.
pub(super) fn with_own<S: CipherSuite, T, const LEN: usize>(
    identity: &Identity<S>,
    then: impl FnOnce(&OwnCredential<'_, S>) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let (mut room, kid) = ([0; MAX_CREDENTIAL], [identity.public.kid]);
    let credential = credential(&identity.public, &mut room)?;
    let is_by_value = travels_by_value::<LEN>() && identity.is_by_value;
    then(&OwnCredential {
        id: if is_by_value { CredentialId::Ccs(credential.as_bytes()) } else { CredentialId::Kid(&kid) },
        credential,
        key: OwnKey::Static(&identity.private),
    })
}

/// Calls `then` with the credential of a peer, if `id` is one that may be its.
pub(super) fn with_peer<S: CipherSuite, A: Admission + ?Sized, T, const LEN: usize>(
    admission: &A,
    peer: Peer,
    id: CredentialId<'_>,
    then: impl FnOnce(&PeerCredential<'_, S>) -> Result<T, Refused>,
) -> Result<T, HandshakeDrop> {
    if travels_by_value::<LEN>()
        && let CredentialId::Ccs(ccs) = id
    {
        let cose = Ccs::parse(ccs)?.key;
        let key = PeerKey::Static(S::public_key(&cose)?);
        if !admission.introduced(peer, &cose) {
            return Err(HandshakeDrop::Stranger);
        }
        let verified = then(&PeerCredential { credential: Credential::ccs(ccs)?, key })?;
        admission.proved(peer, &cose);
        return Ok(verified);
    }
    let admitted = admission.admitted(peer).ok_or(HandshakeDrop::Stranger)?;
    if id != CredentialId::Kid(&[admitted.kid]) {
        return Err(HandshakeDrop::OtherKey);
    }
    let mut room = [0; MAX_CREDENTIAL];
    let credential = credential(&admitted, &mut room)?;
    let key = PeerKey::Static(S::public_key(&admitted.key)?);
    Ok(then(&PeerCredential { credential, key })?)
}

/// Whether messages have room for credentials. A board's have not, and its image has no code for
/// them.
const fn travels_by_value<const LEN: usize>() -> bool {
    LEN >= MAX_MESSAGE_BY_VALUE
}
