//! `motemix id challenge`, `prove` and `check`.

use super::source::{self, place};
use super::{as_json, as_table, digits, key_as_json};
use anyhow::Context as _;
use motemix_object::{
    Audience, CHALLENGE_LEN, Group, Identity, IdentityLabel, MAX_MEMBERS, MAX_PUBLIC_KEY_LEN, ObjectError,
    Signer as _, claimed_members, claimed_possessor, claimed_retired,
};
use motemix_os::rng::HostRng;
use motemix_program::cli::{
    ChallengeArgs, IdCheckMembership, IdCheckPossession, IdCheckRetirement, IdProveMembership,
    IdProvePossession,
};
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table};
use motemix_readings::keys::{DeviceCard, DeviceKey};
use rand_core::Rng as _;
use serde_json::json;
use std::path::Path;

/// A proof with the most keys, twice: the payload is built where the proof will not be.
const PROOF_LEN: usize = 2 * (MAX_MEMBERS * (MAX_PUBLIC_KEY_LEN + 3) + 1024);

pub fn challenge() -> Result<(), Failure> {
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    let mut challenge = [0; CHALLENGE_LEN];
    rng.fill_bytes(&mut challenge);
    Ok(report::print(format!("{}\n", hex::encode(challenge)).as_bytes())?)
}

pub fn prove_possession(args: &IdProvePossession) -> Result<(), Failure> {
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let (key, credential) = device.parts();
    let mut proof = vec![0; PROOF_LEN];
    let challenge = &args.challenge;
    let len = motemix_object::prove_possession(
        key,
        &credential,
        &challenge.challenge,
        audience(challenge)?,
        &mut proof,
    )
    .map_err(Failure::failed)?;
    print_proof(proof.get(..len).unwrap_or_default())
}

pub fn prove_membership(args: &IdProveMembership) -> Result<(), Failure> {
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let group = source::group(&args.group)?;
    if group.group().member_identity(&device.signer().public_key()).is_err() {
        return Err(Failure::broken(format!(
            "{}: its device is not in the group {}; make a group that has its card",
            args.key.display(),
            args.group.display()
        )));
    }
    let mut proof = vec![0; PROOF_LEN];
    let challenge = &args.challenge;
    let len = motemix_object::prove_membership(
        device.signer(),
        &group.group(),
        &challenge.challenge,
        audience(challenge)?,
        &mut proof,
    )
    .map_err(Failure::failed)?;
    print_proof(proof.get(..len).unwrap_or_default())
}

fn print_proof(proof: &[u8]) -> Result<(), Failure> {
    Ok(report::print(format!("{}\n", hex::encode(proof)).as_bytes())?)
}

pub fn check_possession(args: &IdCheckPossession) -> Result<(), Failure> {
    let proof = source::statement(&args.proof)?;
    let refused = |error| refused(&args.proof, error);
    let said = claimed_possessor(&proof).map_err(refused)?;
    let identity = named(&args.identity, said)?.ok_or_else(|| refused(ObjectError::Identity))?;
    let challenge = &args.challenge;
    let credential =
        motemix_object::check_possession(&proof, &identity, &challenge.challenge, audience(challenge)?)
            .map_err(refused)?;
    let card = DeviceCard::new(&credential);
    if args.json {
        return Ok(report::print_json(&as_json(&card))?);
    }
    report::print(b"valid: whoever made the proof has the key of this identity\n")?;
    Ok(as_table(&card, false).print()?)
}

pub fn check_membership(args: &IdCheckMembership) -> Result<(), Failure> {
    let proof = source::statement(&args.proof)?;
    let refused = |error| refused(&args.proof, error);
    // One more than a group may have, so that too many are seen.
    let keys = claimed_members(&proof).map_err(refused)?.take(MAX_MEMBERS + 1).collect::<Result<Vec<_>, _>>();
    let mut keys = keys.map_err(refused)?;
    let said = Group::new(&keys).map(|group| group.identity());
    let said =
        said.map_err(|error| Failure::broken(format!("{}: {error}; ask for a new one", place(&args.proof))))?;
    let identity = named(&args.identity, said)?.ok_or_else(|| refused(ObjectError::Identity))?;
    let challenge = &args.challenge;
    let (device, group) = motemix_object::check_membership(
        &proof,
        &identity,
        &challenge.challenge,
        audience(challenge)?,
        &mut keys,
    )
    .map_err(refused)?;
    let member = group.member_identity(&device).map_err(Failure::failed)?;
    if args.json {
        let mut json = key_as_json(&device);
        json.insert("group_identity".to_owned(), identity.to_string().into());
        json.insert("member_identity".to_owned(), member.to_string().into());
        json.insert("members".to_owned(), group.keys().len().into());
        return Ok(report::print_json(&json)?);
    }
    report::print(b"valid: whoever made the proof has a key of this group\n")?;
    let mut table = Table::without_heading();
    table.row(["group".to_owned(), digits(&identity, false)]);
    table.row(["devices in it".to_owned(), group.keys().len().to_string()]);
    table.row(["the device in it".to_owned(), digits(&member, false)]);
    table.row(["public key".to_owned(), device.to_string()]);
    Ok(table.print()?)
}

pub fn check_retirement(args: &IdCheckRetirement) -> Result<(), Failure> {
    let statement = source::statement(&args.statement)?;
    let refused = |error| refused(&args.statement, error);
    let said = claimed_retired(&statement).map_err(refused)?;
    let identity = named(&args.identity, said)?.ok_or_else(|| refused(ObjectError::Identity))?;
    let (_, credential) = motemix_object::check_retirement(&statement, &identity).map_err(refused)?;
    let card = DeviceCard::new(&credential);
    if args.card {
        return Ok(report::print(card.to_string().as_bytes())?);
    }
    if args.json {
        return Ok(report::print_json(
            &json!({ "before": identity.to_string(), "successor": as_json(&card) }),
        )?);
    }
    report::print(b"valid: this identity follows\n")?;
    Ok(as_table(&card, false).print()?)
}

/// The identity that a statement says to be of, if that is the one that was asked for.
fn named(asked: &str, said: Identity) -> Result<Option<Identity>, Failure> {
    let label: IdentityLabel = source::label(asked)?;
    Ok(label.names(&said).then_some(said))
}

/// What does not hold is no broken input: whoever asked learns that the device is another one.
fn refused(path: &Path, error: ObjectError) -> Failure {
    let place = place(path);
    match error {
        ObjectError::Identity => Failure::failed(format!(
            "{place}: it is of another identity; check the label, or ask the device for a proof"
        )),
        ObjectError::Signature => Failure::failed(format!(
            "{place}: it does not hold: changed on its way, for another challenge or audience, or by another key; \
             ask for a new one"
        )),
        other => Failure::broken(format!("{place}: {other}; copy all of it, or ask for a new one")),
    }
}

fn audience(args: &ChallengeArgs) -> Result<Audience<'_>, Failure> {
    Audience::new(&args.audience).map_err(|error| Failure::broken(format!("--audience: {error}")))
}
