//! Signed readings, checked against the key that their device registered (RFC 8387 §7.3).

use motemix_coap::{Code, Response};
use motemix_object::{
    Audience, Freshness, Identity, KeyId, ObjectError, PublicKey, SealedReading, Stale,
    UnverifiedRegistration, Verified, WINDOW,
};
use motemix_readings::jws::{self, SealedJws};
use motemix_readings::senml::Pack;
use motemix_readings::signature;

use crate::broker::Refused;
use crate::context::Context;

/// What a device signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A fresh reading.
    Reading {
        /// Its number.
        sequence: u64,
        /// Which numbers were accepted, with this one.
        fresh: Freshness,
    },
    /// Which number comes next: after a battery was changed, or before the first reading.
    Registration {
        /// Which numbers were accepted.
        fresh: Freshness,
    },
}

/// The number of a reading, from a receiver of this machine, which has followed the device for
/// longer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) sequence: u64,
    /// The topic took this number. Another topic may have, and that one lacks the reading then.
    pub(crate) is_taken: bool,
}

enum Sealed<'b> {
    Cose(SealedReading<'b>),
    Jws(SealedJws<'b>),
}

impl Sealed<'_> {
    fn key_id(&self) -> KeyId {
        match self {
            Self::Cose(reading) => reading.key_id(),
            Self::Jws(reading) => reading.key_id(),
        }
    }

    fn verify(
        &self,
        key: &PublicKey,
        device: &Identity,
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'_>, ObjectError> {
        match self {
            Self::Cose(reading) => reading.verify_by(key, device, sequence, audience, signature::verifies),
            Self::Jws(reading) => reading.verify(key, device, sequence, audience),
        }
    }
}

/// Looks at what is to be published to a device's topic: a reading as COSE or JWS, or as COSE the
/// device's word which number comes next. `told` is what a receiver says. Changes nothing.
///
/// # Errors
/// The response that says what is wrong, counted.
pub(crate) fn check(
    context: &mut Context<'_>,
    device: &Identity,
    is_cose: bool,
    payload: &[u8],
    told: Option<Told>,
) -> Result<Found, Response> {
    let known = context.state().freshness(device);
    // A receiver's list is bounded, and strangers do not take its places.
    if known.is_none()
        && !context.caller.local
        && !context.policy.directory.names(device)
        && context.state().devices() >= context.policy.limits.devices as usize
    {
        let text = "the broker remembers as many devices as it can; ask who runs it for more";
        return Err(context.refuse(Refused::Full, Code::SERVICE_UNAVAILABLE, text));
    }
    let fresh = known.unwrap_or(Freshness::starting_at(0));
    let Some(key) = context.memory.key(device).copied() else {
        let text = format!(
            "device {device:.32} has no registration with its key here; register a link with the \
             attribute key at /rd first"
        );
        return Err(context.refuse(Refused::UnknownDevice, Code::UNAUTHORIZED, &text));
    };
    let sealed = if is_cose {
        if let Ok(reading) = SealedReading::parse(payload) {
            Sealed::Cose(reading)
        } else {
            return registration(context, device, &key, fresh, payload);
        }
    } else {
        let text = std::str::from_utf8(payload).ok();
        match text.map(jws::open) {
            Some(Ok(reading)) => Sealed::Jws(reading),
            Some(Err(problem)) => return Err(malformed(context, &problem.to_string())),
            None => return Err(malformed(context, "no signed reading as JWS: not a text")),
        }
    };
    reading(context, device, &key, fresh, &sealed, told)
}

fn reading(
    context: &mut Context<'_>,
    device: &Identity,
    key: &PublicKey,
    mut fresh: Freshness,
    sealed: &Sealed<'_>,
    told: Option<Told>,
) -> Result<Found, Response> {
    let policy = context.policy.freshness;
    let key_id = sealed.key_id();
    let sequence = if let Some(Told { sequence: told, .. }) = told {
        // The device may have sent many before anybody handed one over. The signature holds for
        // this number alone.
        if fresh.check(told, policy) == Err(Stale::FarAhead) {
            // Those that come after it and are below it are taken as well.
            let from = told.saturating_sub(WINDOW.min(policy.threshold.into()));
            fresh.register(from).map_err(|stale| not_fresh(context, stale))?;
        }
        told
    } else if key_id.names(device) {
        fresh.nearest(key_id.low())
    } else if let Some(sequence) = fresh.sequence_of(device, key_id, policy) {
        sequence
    } else {
        let text = "this reading is of another device than the topic, or its number is too old or too \
                    far ahead; publish to the device's own topic, or its registration first";
        return Err(context.refuse(Refused::Signature, Code::FORBIDDEN, text));
    };
    // First, so that what was replayed costs no check of a signature.
    let is_fresh = fresh.check(sequence, policy);
    let is_used_up = matches!(is_fresh, Err(Stale::Replayed | Stale::Late));
    let lies_elsewhere = is_used_up && told.is_some_and(|told| !told.is_taken);
    if !lies_elsewhere {
        is_fresh.map_err(|stale| not_fresh(context, stale))?;
    }
    let audience = Audience::new(&context.policy.audience).unwrap_or_default();
    let Ok(verified) = sealed.verify(key, device, sequence, audience) else {
        return Err(bad_signature(context));
    };
    if !lies_elsewhere {
        fresh.admit(&verified, policy).map_err(|stale| not_fresh(context, stale))?;
    }
    if let Err(problem) = Pack::read_valid(verified.senml()) {
        return Err(malformed(context, &problem.to_string()));
    }
    context.counters.verified += 1;
    Ok(Found::Reading { sequence, fresh })
}

fn registration(
    context: &mut Context<'_>,
    device: &Identity,
    key: &PublicKey,
    mut fresh: Freshness,
    payload: &[u8],
) -> Result<Found, Response> {
    let Ok(registration) = UnverifiedRegistration::parse(payload) else {
        let text = "neither a signed reading nor a signed registration in their one form: a COSE_Sign1 \
                    without a tag, with nothing in its unprotected header";
        return Err(malformed(context, text));
    };
    let audience = Audience::new(&context.policy.audience).unwrap_or_default();
    if registration.verify(device, Some(key), audience).is_err() {
        return Err(bad_signature(context));
    }
    fresh.register(registration.sequence()).map_err(|stale| not_fresh(context, stale))?;
    context.counters.verified += 1;
    Ok(Found::Registration { fresh })
}

fn malformed(context: &mut Context<'_>, problem: &str) -> Response {
    context.refuse(Refused::Malformed, Code::BAD_REQUEST, problem)
}

fn bad_signature(context: &mut Context<'_>) -> Response {
    let text = format!(
        "the signature is not that of the topic's device for network {:?}; check key and network",
        context.policy.audience
    );
    context.refuse(Refused::Signature, Code::FORBIDDEN, &text)
}

fn not_fresh(context: &mut Context<'_>, stale: Stale) -> Response {
    let text = match stale {
        Stale::FarAhead => format!("{stale}: publish its signed registration here first"),
        Stale::Replayed | Stale::Late => format!("{stale}; publish a reading with a new number"),
    };
    context.refuse(Refused::Stale, Code::CONFLICT, &text)
}
