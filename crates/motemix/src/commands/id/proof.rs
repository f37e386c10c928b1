//! Proofs: who has the key of an identity, who is of a group, and what took an identity's place.

use super::card::Card;
use super::keys_of;
use crate::cli::{IdCheck, IdProve};
use crate::commands::object::{input, print, unarmoured};
use crate::failure::Failure;
use crate::report;
use motemix_host::keys::DeviceKey;
use motemix_host::rng::HostRng;
use motemix_object::{
    CHALLENGE_LEN, Group, MAX_MEMBERS, ObjectError, check_membership, check_possession, check_retirement,
    prove_membership, prove_possession,
};
use rand_core::Rng as _;
use serde_json::json;

/// Room for a proof with all keys of a group, twice: it is built in front of its place.
const PROOF_LEN: usize = 40 * MAX_MEMBERS * 2;

pub fn prove(args: &IdProve) -> Result<(), Failure> {
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let mut out = vec![0; PROOF_LEN];
    let (signer, own) = device.parts();
    let proved = if args.group.is_empty() {
        prove_possession(signer, &own, &args.challenge, args.audience.get(), &mut out)
    } else {
        let cards: Vec<_> = args.group.iter().map(|path| Card::load(path)).collect::<Result<_, _>>()?;
        let keys = keys_of(&cards)?;
        let group = Group::new(&keys).map_err(Failure::broken)?;
        prove_membership(signer, &group, &args.challenge, args.audience.get(), &mut out)
    };
    let len = proved.map_err(|error| match error {
        ObjectError::Identity => Failure::broken(format!(
            "{}: not one of the group's devices; name it with --group",
            args.key.display()
        )),
        error => Failure::failed(error),
    })?;
    print(&out[..len], false)
}

pub fn check(args: &IdCheck) -> Result<(), Failure> {
    let Some(path) = &args.proof else {
        let mut challenge = [0; CHALLENGE_LEN];
        HostRng::new().map_err(Failure::failed)?.fill_bytes(&mut challenge);
        return print(&challenge, false);
    };
    let proof = unarmoured(input(Some(path))?);
    let Some(identity) = &args.identity else {
        return Err(Failure::broken(
            "--identity: whose proof is it? name the device's or the group's identity",
        ));
    };
    let refused = |error: ObjectError| match error {
        ObjectError::Malformed { .. } => Failure::broken(format!("{}: {error}", path.display())),
        error => Failure::failed(format!("{}: no proof: {error}", path.display())),
    };
    let Some(challenge) = &args.challenge else {
        let (successor, credential) = check_retirement(&proof, identity).map_err(refused)?;
        if args.json {
            let key = credential.key().to_string();
            return Ok(report::print_json(
                &json!({ "retired": identity.to_string(), "successor": successor.to_string(), "key": key }),
            )?);
        }
        return Ok(report::print(format!("retired; {successor} has taken its place\n").as_bytes())?);
    };
    let audience = args.audience.get();
    match check_possession(&proof, identity, challenge, audience) {
        Ok(credential) => {
            if args.json {
                let key = credential.key().to_string();
                return Ok(report::print_json(&json!({ "proves": "possession", "key": key }))?);
            }
            Ok(report::print(format!("the device has {}\n", credential.key()).as_bytes())?)
        }
        // It may be of a group.
        Err(first) => {
            let mut places = vec![motemix_object::PublicKey::PLACE; MAX_MEMBERS];
            let checked = check_membership(&proof, identity, challenge, audience, &mut places);
            let (key, group) = checked.map_err(|error| match error {
                ObjectError::Malformed { .. } => refused(first),
                error => refused(error),
            })?;
            if args.json {
                let (key, devices) = (key.to_string(), group.keys().len());
                return Ok(report::print_json(
                    &json!({ "proves": "membership", "key": key, "devices": devices }),
                )?);
            }
            let said = format!("{key} is one of the group's {} devices\n", group.keys().len());
            Ok(report::print(said.as_bytes())?)
        }
    }
}
