//! Has a running node deliver one message.

use super::unexpected;
use crate::failure::Failure;
use motemix_directory::ProfileName;
use motemix_host::NodeConfig;
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_object::{OVERHEAD, SealedReading, senml_len};
use std::time::Duration;

/// What the network did with the message.
pub enum Outcome {
    /// After this time since the node took it; the try that was acknowledged took `round_trip`.
    Acknowledged {
        elapsed: Duration,
        round_trip: Duration,
        tries: u32,
    },
    Discarded,
}

/// Through the control socket of a running node.
pub fn deliver(
    mut control: ControlClient,
    config: &NodeConfig,
    to: &str,
    data: &[u8],
) -> Result<Outcome, Failure> {
    // One that stands still would never answer.
    let status = control
        .request(&Request::Status {})
        .map_err(|error| Failure::failed(format!("{error}; `motemix net status` shows what it is about")))?;
    if let Response::Status(NodeStatus { detail: Some(detail), .. }) = status
        && let Some(document) = &detail.document
        && let Ok(profile) = document.profile.parse()
    {
        check_length(data, profile)?;
    }
    // The node answers when the last try is acknowledged or given up, and only it knows when that
    // is.
    control.set_patience(None).map_err(Failure::failed)?;
    let request = Request::Send { to: to.to_owned(), data_hex: hex::encode(data), wait: true };
    match control.request(&request).map_err(Failure::failed)? {
        Response::Acknowledged { round_trip_us, elapsed_us, tries, .. } => Ok(Outcome::Acknowledged {
            elapsed: Duration::from_micros(elapsed_us),
            round_trip: Duration::from_micros(round_trip_us),
            tries,
        }),
        Response::Discarded { .. } => Ok(Outcome::Discarded),
        other => Err(unexpected(&config.name, &other).into()),
    }
}

/// What a packet does not carry is refused with what would fit.
fn check_length(data: &[u8], profile: ProfileName) -> Result<(), Failure> {
    let most = profile.geometry().data_len();
    if data.len() <= most {
        return Ok(());
    }
    let len = data.len();
    let fits = if SealedReading::parse(data).is_ok() {
        format!(
            "its signature takes {OVERHEAD} of them, and {} are left for a reading: send one value a message, \
             with a short name, or",
            senml_len(most)
        )
    } else {
        "send it in parts, or".to_owned()
    };
    Err(Failure::broken(format!(
        "the message has {len} bytes, and a packet of this network carries {most}; {fits} make a network of larger \
         packets (`motemix net init --profile`)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::sign_one;
    use motemix_object::Algorithm;
    use motemix_readings::keys::DeviceKey;
    use motemix_readings::senml::Pack;

    #[test]
    fn a_message_that_no_packet_carries_is_refused_with_what_would_fit() {
        let refused = |data: &[u8], profile| check_length(data, profile).unwrap_err().to_string();
        assert!(check_length(&[b'x'; 103], ProfileName::Mote).is_ok());
        let text = refused(&[b'x'; 104], ProfileName::Mote);
        assert!(text.contains("has 104 bytes") && text.contains("carries 103; send it in parts"), "{text}");
        assert!(check_length(&[b'x'; 1024], ProfileName::Host1k).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        DeviceKey::create(&key, Algorithm::Ed25519, &[]).unwrap();
        let config = NodeConfig::new("mote-1", Some(1), "plant", Vec::new(), 0);
        let pack = Pack::from_json(br#"[{"n":"temperature","u":"Cel","v":21.5,"t":1700000000}]"#).unwrap();
        let signed = sign_one(&key, &config, &pack.to_cbor()).unwrap();
        let text = refused(&signed, ProfileName::Mote);
        assert!(text.contains("signature takes 81 of them, and 22 are left"), "{text}");
        assert!(check_length(&signed, ProfileName::Mote5).is_ok());
    }
}
