//! A peer with one multiplication a hop: Nym's `nym-outfox`. An Outfox packet has fresh keys for each
//! layer (Outfox: Piotrowska et al., 2024), so a mix blinds nothing, and a packet shrinks on its way.

use anyhow::{Result, anyhow};
use motemix_crypto::hash;
use nym_outfox::constants::DEFAULT_HOPS;
use nym_outfox::format::{MixCreationParameters, MixStageParameters};
use x25519_dalek_2::{PublicKey, StaticSecret};

/// As the tables call it.
pub const NAME: &str = "nym-outfox 1.21";

/// What the sender puts in front of its data, so that the receiver knows it.
const MARK: &[u8] = b"ofx";

/// The address that the first mix finds in its layer.
pub const NEXT: [u8; 32] = [DEFAULT_HOPS as u8 - 1; 32];

fn secret(n: usize) -> StaticSecret {
    StaticSecret::from(*hash::blake2s_256(b"outfox", &n.to_be_bytes()).expose())
}

/// The first mix of a route, and a packet that arrives there.
pub struct FirstMix {
    stage: MixStageParameters,
    key: StaticSecret,
    packet: Vec<u8>,
}

impl FirstMix {
    /// The format's four layers around `data`.
    pub fn new(data: &[u8]) -> Result<Self> {
        let length = u16::try_from(MARK.len() + data.len())?;
        let whole = MixCreationParameters::new(length);
        let mut packet = vec![0; whole.total_packet_length()];
        let data_begins = packet.len() - data.len();
        packet[data_begins - MARK.len()..data_begins].copy_from_slice(MARK);
        packet[data_begins..].copy_from_slice(data);
        for layer in 0..DEFAULT_HOPS {
            let (range, stage) = whole.get_stage_params(layer);
            let mix = PublicKey::from(&secret(layer));
            stage
                .encode_mix_layer(&mut packet[range], &secret(DEFAULT_HOPS + layer), mix, &[layer as u8; 32])
                .map_err(|error| anyhow!("nym-outfox: {error}"))?;
        }
        let first = DEFAULT_HOPS - 1;
        let (_, stage) = whole.get_stage_params(first);
        Ok(Self { stage, key: secret(first), packet })
    }

    /// The packet as it arrives.
    pub fn packet(&self) -> Vec<u8> {
        self.packet.clone()
    }

    /// Removes one layer in place: what is sent on is a part of `packet`. The next hop's address.
    pub fn forward(&self, packet: &mut [u8]) -> Option<Vec<u8>> {
        self.stage.decode_mix_layer(packet, &self.key).ok()
    }
}
