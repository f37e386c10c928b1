//! Datagrams that a node must refuse.

use motemix_crypto::{BoardCurve, Secret};
use motemix_sphinx::{
    Hop, Host1k, Host2k, MixKey, Mote, Mote5, Packet, ProcessError, Profile, ReplayError, ReplayFilter,
    ReplayTag, TurnRound,
};

use crate::tables::{self, Refused, SameTag};
use crate::{Checked, sure};

/// Bytes of the longest packet.
const LONGEST: usize = motemix_sphinx::HOST2K.packet_len();

/// A filter with room for one tag.
#[derive(Default)]
pub struct OneTag(Option<ReplayTag>);

impl ReplayFilter for OneTag {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        match &self.0 {
            Some(known) if known == tag => Err(ReplayError::Replayed),
            Some(_) => Err(ReplayError::Full),
            None => {
                self.0 = Some(*tag);
                Ok(())
            }
        }
    }
}

/// What came of a datagram.
#[derive(PartialEq)]
enum Arrival {
    Unwrapped,
    Refused(ProcessError),
    NotAdmitted(ReplayError),
}

#[inline(never)]
fn arrive<P: Profile>(
    secret: &[u8; 32],
    filter: &mut OneTag,
    datagram: &[u8],
) -> Result<Arrival, &'static str> {
    let key = MixKey::new(Secret::new(*secret));
    let mut room = [0; LONGEST];
    let room = room.get_mut(..datagram.len()).ok_or("it is longer than any packet")?;
    room.copy_from_slice(datagram);
    let authenticated = Packet::<P>::parse(room).and_then(|packet| packet.authenticate([((), &key)]));
    let authenticated = match authenticated {
        Ok(((), authenticated)) => authenticated,
        Err(error) => return Ok(Arrival::Refused(error)),
    };
    Ok(match authenticated.admit(filter) {
        Err(error) => Arrival::NotAdmitted(error),
        Ok(fresh) => match fresh.unwrap_layer() {
            // It leaves, and nobody replies in it.
            Ok(Hop::TurnRound(TurnRound { message: None, .. })) => Arrival::Refused(ProcessError::BadPayload),
            Ok(_) => Arrival::Unwrapped,
            Err(error) => Arrival::Refused(error),
        },
    })
}

fn arrive_at(
    profile: tables::Profile,
    secret: &[u8; 32],
    filter: &mut OneTag,
    datagram: &[u8],
) -> Result<Arrival, &'static str> {
    match profile {
        tables::Profile::Mote => arrive::<Mote<BoardCurve>>(secret, filter, datagram),
        tables::Profile::Mote5 => arrive::<Mote5<BoardCurve>>(secret, filter, datagram),
        tables::Profile::Host1k => arrive::<Host1k<BoardCurve>>(secret, filter, datagram),
        tables::Profile::Host2k => arrive::<Host2k<BoardCurve>>(secret, filter, datagram),
    }
}

pub fn check_refused(case: &Refused) -> Checked {
    let arrival = arrive_at(case.profile, &case.secret, &mut OneTag::default(), case.datagram)?;
    sure("it is not refused for its reason", arrival == Arrival::Refused(case.verdict))
}

pub fn check_same_tag(case: &SameTag) -> Checked {
    let mut filter = OneTag::default();
    let [first, second] = case.datagrams;
    let arrival = arrive_at(case.profile, &case.secret, &mut filter, first)?;
    sure("the first one is not taken", arrival == Arrival::Unwrapped)?;
    sure("it has another replay tag", filter.0 == Some(ReplayTag(case.replay_tag)))?;
    let arrival = arrive_at(case.profile, &case.secret, &mut filter, second)?;
    sure("the second one is not a replay", arrival == Arrival::NotAdmitted(ReplayError::Replayed))
}
