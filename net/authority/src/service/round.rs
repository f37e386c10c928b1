//! A round as it is held: what is asked of the others when, and what is written down before what.

use std::time::Duration;

use motemix_directory::{BuildError, KeyId, Role};
use motemix_os::web;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Authority, State};
use crate::ceremony::{Agreed, Ceremony, Counted, Offered, Phase, sign_document};
use crate::evidence::{Evidence, MAX_EVIDENCE_LEN, VOTES_EACH};
use crate::transcript::{Transcript, Word};
use crate::vote::{Digest, MAX_VOTE_LEN, NewVote, Preparation, Round, VoteError, described};

/// How often the others are asked in a phase.
const ASKS: u32 = 4;
/// How often one of the others is asked before it has answered.
const UNANSWERED: u32 = 2;
/// What is left of a phase when nobody is asked any more.
const VERY_END: Duration = Duration::from_millis(20);
/// The part of a phase that words of one authority may take which are then refused. A liar, or
/// whoever is on the way to it, would keep this one from hearing the others otherwise.
const NOISE: u32 = 8;
/// Bytes of one authority beside votes and documents: sightings, preparations, heads of its words.
const SMALL_LEN: usize = 16 << 10;
/// Rounds that others can ask for: the one that is on, and those before it. Each second one may be
/// about an epoch that is stuck, and what was said in its last one is still known.
const ROUNDS: usize = 3;

/// The longest transcript: what all authorities can say in a round has room, so that what a liar
/// says takes nobody else's.
const fn transcript_len(authorities: usize) -> usize {
    let document = MAX_VOTE_LEN;
    authorities * (VOTES_EACH * (MAX_VOTE_LEN + MAX_EVIDENCE_LEN) + document + SMALL_LEN)
}

/// Takes the longest descriptors out, so that a vote has room for the others, and returns them.
fn leave_out_the_longest<'f>(candidates: &mut Vec<(Role, &'f [u8])>) -> Vec<(Role, &'f [u8])> {
    // Draft, evidence and signature of a vote, and a head for each descriptor.
    const BESIDE: usize = 64 << 10;
    const HEAD: usize = 8;
    candidates.sort_by_key(|(_, file)| file.len());
    let mut len = BESIDE;
    let fits = candidates.iter().take_while(|(_, file)| {
        len += HEAD + file.len();
        len <= MAX_VOTE_LEN
    });
    let count = fits.count();
    candidates.split_off(count)
}

fn promised_another(round: Round) -> String {
    format!(
        "this authority has promised another document of epoch {}, and signs one for an epoch only; the others can agree \
         without it, and later epochs are not touched",
        round.epoch
    )
}

impl Authority {
    /// One round, from the votes to the document. `voted` is when its first phase ends. The others
    /// end after it by the clock that nobody sets: whatever becomes of the wall clock meanwhile, a
    /// round takes five phases.
    pub(super) async fn take_part(&self, round: Round, voted: Instant) -> Result<(), String> {
        let [seen, prepared, signed] = [1, 2, 3].map(|phases| voted + self.config.phase * phases);
        let evidence = self.evidence(round)?;
        let vote = self.vote(round, evidence.as_ref())?;
        self.enter(round, &vote, evidence.as_ref());
        self.exchange(round, Phase::Voting, voted).await;

        let sighting = self.with(round, |ceremony| ceremony.sighting())?;
        let sighting = sighting.sign(self.key.secret()).map_err(|error| error.to_string())?;
        self.with(round, |ceremony| ceremony.take_sighting(Phase::Sighting, &sighting).map(drop))?
            .map_err(|error| error.to_string())?;
        self.exchange(round, Phase::Sighting, seen).await;

        let counted = self.count(round).await?;
        // What was promised before is signed all the same.
        if let Err(problem) = self.prepare(round, &counted) {
            tracing::debug!("nothing is prepared: {problem}");
        }
        self.exchange(round, Phase::Preparing, prepared).await;

        let signing = self.sign(round, &counted);
        // Others may agree without this one, and it can have what they agree on.
        self.exchange(round, Phase::Signing, signed).await;
        for liar in self.with(round, |ceremony| ceremony.twofold())? {
            tracing::warn!("authority {liar} counted two documents of epoch {}", round.epoch);
            self.suspect(liar);
        }
        for liar in self.dissenters(round, &counted) {
            tracing::warn!("authority {liar} signed another document of epoch {}", round.epoch);
            self.suspect(liar);
        }
        let Some(agreed) = self.with(round, |ceremony| ceremony.agreed())? else {
            // It may have come from the others meanwhile.
            if self.archive.read(round.epoch).is_some() {
                self.took_part(&signing);
                return Ok(());
            }
            return Err(signing.err().unwrap_or_else(|| {
                format!(
                    "too few signed the same document, and {} have to; see whether the others run, and whether their \
                     clocks are right",
                    self.roster.threshold()
                )
            }));
        };
        self.archive
            .keep(&agreed.file, &self.config.network, &self.roster)
            .map_err(|error| format!("documents: {error}; make room, or see to the folder's permissions"))?;
        tracing::info!(epoch = %round.epoch, signatures = agreed.signatures, "a document is agreed on");
        self.state.borrow_mut().trouble = None;
        self.took_part(&signing);
        Ok(())
    }

    /// A document was made. If this authority signed what it had counted, it had a part in that.
    fn took_part(&self, signing: &Result<(), String>) {
        if signing.is_ok() {
            self.state.borrow_mut().without_us = 0;
        }
    }

    /// Counts the votes; the documents that ids come from are fetched if they are not here.
    async fn count(&self, round: Round) -> Result<Counted, String> {
        let (bases, liars) = self.with(round, |ceremony| (ceremony.bases(), ceremony.counted().1))?;
        for liar in liars {
            tracing::warn!("authority {liar} voted twice for epoch {}", round.epoch);
            self.suspect(liar);
        }
        for base in bases {
            if self.archive.ids(base, &self.roster).is_none() {
                self.fetch(base.0).await;
            }
        }
        let ids = |base| self.archive.ids(base, &self.roster);
        self.with(round, |ceremony| ceremony.count(ids))?.map_err(|error| error.to_string())
    }

    /// Says what was counted, if it can be shown and signed.
    fn prepare(&self, round: Round, counted: &Counted) -> Result<(), String> {
        self.state.borrow_mut().counted.entry(round.epoch).or_default();
        if !Ceremony::may_prepare(counted, self.promised(round)?) {
            return Ok(());
        }
        let document = Digest::of_document(&counted.payload);
        let preparation = Preparation { round, document }.sign(self.key.secret());
        let preparation = preparation.map_err(|error| error.to_string())?;
        self.with(round, |ceremony| ceremony.take_preparation(&preparation).map(drop))?
            .map_err(|error| error.to_string())
    }

    /// Signs what was counted, once the promise is on the disk.
    fn sign(&self, round: Round, counted: &Counted) -> Result<(), String> {
        let promised = self.promised(round)?;
        if !self.with(round, |ceremony| ceremony.may_sign(counted, promised))? {
            return Err(self.why_not(round, counted, promised));
        }
        if let Some(evidence) = &counted.evidence {
            let document = Digest::of_document(&counted.payload);
            let promised = self.store.promise(round.epoch, document, evidence);
            if !promised.map_err(|error| error.to_string())? {
                return Err(promised_another(round));
            }
        }
        let signed = sign_document(&counted.payload, self.key.secret()).map_err(|error| error.to_string())?;
        self.with(round, |ceremony| ceremony.take_signed(&signed).map(drop))?
            .map_err(|error| error.to_string())
    }

    fn promised(&self, round: Round) -> Result<Option<Digest>, String> {
        self.store.promised(round.epoch).map_err(|error| error.to_string())
    }

    /// Why what was counted is not signed.
    fn why_not(&self, round: Round, counted: &Counted, promised: Option<Digest>) -> String {
        let what = if counted.evidence.is_none() {
            "said in time which votes they had"
        } else if promised.is_some() {
            return promised_another(round);
        } else {
            "said that they counted this document"
        };
        let threshold = self.roster.threshold();
        format!(
            "fewer than {threshold} authorities {what}; see whether the others run, and whether their clocks are right"
        )
    }

    fn dissenters(&self, round: Round, counted: &Counted) -> Vec<KeyId> {
        let rounds = &self.state.borrow().rounds;
        let ceremony = rounds.iter().find(|ceremony| ceremony.round() == round);
        ceremony.map(|ceremony| ceremony.dissenters(counted, rounds)).unwrap_or_default()
    }

    fn suspect(&self, liar: KeyId) {
        let liars = &mut self.state.borrow_mut().liars;
        if !liars.contains(&liar) {
            liars.push(liar);
        }
    }

    /// Why this authority promised a document of the epoch, if it did in an earlier round.
    fn evidence(&self, round: Round) -> Result<Option<Evidence>, String> {
        let kept = self.store.evidence(round.epoch).map_err(|error| error.to_string())?;
        // It is of no use if there are other authorities now.
        let sound = kept.filter(|evidence| evidence.is_sound(round, &self.config.network, &self.roster));
        if sound.is_some() {
            tracing::info!(epoch = %round.epoch, "a document was promised in an earlier round, and is shown to the others");
        }
        Ok(sound)
    }

    /// This authority's vote, which is on the disk.
    fn vote(&self, round: Round, evidence: Option<&Evidence>) -> Result<Vec<u8>, String> {
        let members = self.store.members().map_err(|error| error.to_string())?;
        let mut candidates: Vec<_> = members
            .iter()
            .filter_map(|member| Some((member.role, member.descriptor.as_deref()?)))
            .filter(|(_, file)| {
                described(file).is_some_and(|descriptor| descriptor.mix_key(round.epoch).is_some())
            })
            .collect();
        let left_out = leave_out_the_longest(&mut candidates);
        let left_out = left_out.iter().filter_map(|(_, file)| Some(described(file)?.name.to_owned()));
        let left_out: Vec<_> = left_out.collect();
        if !left_out.is_empty() {
            tracing::warn!(
                "{} nodes are not voted for, {} among them: their descriptors are the longest, and a vote has room \
                 for {MAX_VOTE_LEN} bytes; have nodes give keys of fewer epochs, or admit fewer nodes",
                left_out.len(),
                left_out.iter().take(8).cloned().collect::<Vec<_>>().join(", ")
            );
        }
        self.state.borrow_mut().left_out = left_out;
        let vote = NewVote {
            attempt: round.attempt,
            previous: self.archive.before(round.epoch),
            draft: self.config.draft(round.epoch).map_err(|fault| fault.problem)?,
            candidates,
            evidence,
        };
        let vote = vote.sign(self.key.secret()).map_err(|error: BuildError| error.to_string())?;
        self.store.vote_once(round, &vote).map_err(|error| error.to_string())
    }

    fn enter(&self, round: Round, vote: &[u8], evidence: Option<&Evidence>) {
        let mut ceremony = Ceremony::new(self.roster.clone(), &self.config.network, round);
        let offered = evidence.into_iter().flat_map(Evidence::votes).collect();
        if let Err(error) = ceremony.take_vote(Phase::Voting, vote, &offered) {
            tracing::warn!("this authority's own vote: {error}");
        }
        let State { rounds, noise, .. } = &mut *self.state.borrow_mut();
        noise.clear();
        rounds.push(ceremony);
        let surplus = rounds.len().saturating_sub(ROUNDS);
        rounds.drain(..surplus);
    }

    fn with<T>(&self, round: Round, with: impl FnOnce(&mut Ceremony) -> T) -> Result<T, String> {
        let mut state = self.state.borrow_mut();
        let ceremony = state.rounds.iter_mut().find(|ceremony| ceremony.round() == round);
        ceremony.map(with).ok_or_else(|| "the round is over".to_owned())
    }

    /// Asks the others what was said, until the phase ends. Each is asked anew from time to time,
    /// also while it has not answered: what was lost on the way is not waited for, and what is slow
    /// is heard as long as there is time.
    async fn exchange(&self, round: Round, phase: Phase, ends: Instant) {
        self.goes_on(ends);
        let others: Vec<_> = self.others().collect();
        let most = transcript_len(self.roster.len());
        let (mut asked, mut unanswered) = (JoinSet::new(), vec![0; others.len()]);
        loop {
            let within = ends.saturating_duration_since(Instant::now());
            // Who is asked at the very end may answer when it is over.
            if within <= VERY_END {
                sleep_until(ends).await;
                return;
            }
            let next = Instant::now() + within.min(self.config.phase / ASKS);
            for (peer, at) in others.iter().enumerate() {
                if unanswered[peer] < UNANSWERED && !self.is_noise(at) {
                    unanswered[peer] += 1;
                    let (at, path) = (at.clone(), format!("/rounds/{}/{}", round.epoch, round.attempt));
                    asked.spawn_local(async move { (peer, web::get(&at, &path, most, within).await) });
                }
            }
            while let Ok(answered) = timeout_at(next, asked.join_next()).await {
                let Some(answered) = answered else {
                    sleep_until(next).await;
                    break;
                };
                let Ok((peer, answer)) = answered else { continue };
                unanswered[peer] -= 1;
                if let Ok(Some(transcript)) = answer {
                    self.hear(round, phase, &others[peer], &transcript);
                }
                if phase == Phase::Signing && self.is_signed_by_all(round) {
                    return;
                }
            }
        }
    }

    fn is_signed_by_all(&self, round: Round) -> bool {
        let all = |agreed: Agreed| agreed.signatures == self.roster.len();
        self.with(round, |ceremony| ceremony.agreed().is_some_and(all)) == Ok(true)
    }

    /// Whether one of the others has been heard for long enough in this round, for nothing.
    fn is_noise(&self, peer: &str) -> bool {
        self.state.borrow().noise.get(peer).is_some_and(|spent| *spent > self.config.phase / NOISE)
    }

    /// Takes in what was said, as one of the others passed it on.
    fn hear(&self, round: Round, phase: Phase, peer: &str, transcript: &[u8]) {
        let Some(words) = Transcript::read(transcript) else {
            tracing::debug!("a transcript cannot be read");
            return;
        };
        let earlier = words.iter().filter_map(|word| match word {
            Word::EarlierVote(file) => Some(*file),
            _ => None,
        });
        let offered: Offered<'_> = earlier.collect();
        for word in words {
            if self.is_noise(peer) {
                tracing::warn!(
                    "{peer} passes on what nobody can use, and is not heard in this round any more"
                );
                return;
            }
            let begin = Instant::now();
            let heard = self.with(round, |ceremony| match word {
                Word::Sighting(file) => ceremony.take_sighting(phase, file),
                Word::Vote(file) => ceremony.take_vote(phase, file, &offered),
                Word::Document(file) => ceremony.take_signed(file),
                Word::Preparation(file) => ceremony.take_preparation(file),
                Word::EarlierVote(_) => Ok(false),
            });
            match heard {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::debug!("something said in a round is not taken: {error}");
                    // Whoever is late need not have lied.
                    if error != VoteError::Late {
                        *self.state.borrow_mut().noise.entry(peer.to_owned()).or_default() += begin.elapsed();
                    }
                }
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_that_would_be_too_long_has_the_shorter_descriptors() {
        let (short, long) = (vec![0; 2500], vec![0; 8900]);
        let of = |short_ones: usize, long_ones: usize| {
            let shorts = (0..short_ones).map(|_| (Role::Endpoint, &short[..]));
            let longs = (0..long_ones).map(|_| (Role::Endpoint, &long[..]));
            longs.chain(shorts).collect::<Vec<_>>()
        };
        let mut all = of(700, 10);
        assert!(leave_out_the_longest(&mut all).is_empty() && all.len() == 710);
        let mut all = of(700, 100);
        let left_out = leave_out_the_longest(&mut all);
        assert!((60..100).contains(&left_out.len()), "{}", left_out.len());
        assert!(left_out.iter().all(|(_, file)| file.len() == long.len()));
        assert_eq!(all.iter().filter(|(_, file)| file.len() == short.len()).count(), 700);
        assert_eq!(all.len() + left_out.len(), 800);
    }
}
