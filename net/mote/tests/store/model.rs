//! What a store must hold, beside a store.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::Secret;
use motemix_directory::{Epoch, KeyRatchet, UnixTime};
use motemix_mote::store::{DocumentHead, Layout, MAX_AUTHORITIES, MAX_MESSAGE_LEN, Store, StoreError};
use motemix_node::{Admitted, Digest};
use motemix_sphinx::MessageId;

/// One call that stores something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Ratchet(u32),
    Sequence,
    NewestEpoch(u32),
    Address(u8),
    Authorities { threshold: u8, keys: usize },
    Document { len: usize, version: u8 },
    Tag { epoch: u32, tag: u64 },
    ForgetTags(u32),
    Message { id: u32, len: usize },
    RemoveMessage,
}

/// All that can be read from a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    pub ratchet: Option<(u32, [u8; 32])>,
    pub newest_epoch: Option<u32>,
    pub address: Option<[u8; 8]>,
    pub authorities: Option<(u8, Vec<[u8; 32]>)>,
    pub document: Option<Vec<u8>>,
    /// Epoch and tag, by epoch and then in the order in which they were kept.
    pub tags: Vec<(u32, u64)>,
    pub messages: VecDeque<(MessageId, Vec<u8>)>,
}

/// What a store must hold.
#[derive(Clone, Default, Debug)]
pub struct Model {
    pub contents: Contents,
    pub used: HashSet<u32>,
}

/// What is kept beside a document.
pub const HEAD: DocumentHead =
    DocumentHead { epoch: Epoch(7), valid_after: UnixTime(1_800_000_000), network: 99 };

/// The epochs whose tags occur in the stories.
pub const EPOCHS: std::ops::Range<u32> = 0..12;

pub fn seed(epoch: u32) -> [u8; 32] {
    std::array::from_fn(|at| (epoch as u8).wrapping_mul(89) ^ (at as u8).wrapping_mul(31) ^ 0xa5)
}

fn bytes(version: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add(version)).collect()
}

/// A digest as a board's filter has them: twelve bits of the bucket, sixteen of the fingerprint.
pub fn digest(number: u64) -> Digest {
    Digest::from_short(((number >> 32) as u32 & 0xfff) << 20 | number as u32 & 0xffff)
}

/// The number that a digest was made of.
pub fn number(digest: Digest) -> u64 {
    let short = digest.to_short().expect("a board's");
    u64::from(short >> 20) << 32 | u64::from(short & 0xffff)
}

/// Makes a step on the store; the number that was handed out, if one was.
pub fn make<F: MultiwriteNorFlash>(store: &mut Store<F>, step: Step) -> Result<Option<u32>, StoreError> {
    match step {
        Step::Ratchet(epoch) => {
            store.keep_ratchet(&KeyRatchet::new(Epoch(epoch), Secret::new(seed(epoch))))?;
        }
        Step::Sequence => return store.next_sequence().map(Some),
        Step::NewestEpoch(epoch) => store.keep_newest_epoch(Epoch(epoch))?,
        Step::Address(version) => store.keep_address([version; 8])?,
        Step::Authorities { threshold, keys } => {
            let all = [[threshold; 32]; MAX_AUTHORITIES];
            store.keep_authorities(threshold, &all[..keys])?;
        }
        Step::Document { len, version } => {
            store.keep_document(&bytes(version, len), HEAD)?;
        }
        Step::Tag { epoch, tag } => {
            store.keep_tag(Admitted { epoch: Epoch(epoch), digest: digest(tag) })?;
        }
        Step::ForgetTags(epoch) => store.forget_tags_before(Epoch(epoch))?,
        Step::Message { id, len } => {
            store.keep_message(MessageId(id.to_be_bytes()), &bytes(id as u8, len))?;
        }
        Step::RemoveMessage => store.remove_oldest_message()?,
    }
    Ok(None)
}

impl Model {
    /// The model after a step that was acknowledged.
    pub fn after(&self, step: Step) -> Self {
        let mut next = self.clone();
        let contents = &mut next.contents;
        match step {
            Step::Ratchet(epoch) => contents.ratchet = Some((epoch, seed(epoch))),
            Step::Sequence => {}
            Step::NewestEpoch(epoch) => contents.newest_epoch = contents.newest_epoch.max(Some(epoch)),
            Step::Address(version) => contents.address = Some([version; 8]),
            Step::Authorities { threshold, keys } => {
                contents.authorities = Some((threshold, vec![[threshold; 32]; keys]));
            }
            Step::Document { len, version } => contents.document = Some(bytes(version, len)),
            Step::Tag { epoch, tag } => {
                let after = contents.tags.partition_point(|(of, _)| *of <= epoch);
                contents.tags.insert(after, (epoch, tag));
            }
            Step::ForgetTags(before) => contents.tags.retain(|(epoch, _)| *epoch >= before),
            Step::Message { id, len } => {
                contents.messages.push_back((MessageId(id.to_be_bytes()), bytes(id as u8, len)));
            }
            Step::RemoveMessage => drop(contents.messages.pop_front()),
        }
        next
    }

    /// Makes a step that has to succeed.
    pub fn make<F: MultiwriteNorFlash>(&mut self, store: &mut Store<F>, step: Step) {
        let number = make(store, step).unwrap_or_else(|error| panic!("{step:?}: {error}"));
        self.acknowledge(step, number);
    }

    pub fn acknowledge(&mut self, step: Step, number: Option<u32>) {
        *self = self.after(step);
        if let Some(number) = number {
            assert!(self.used.insert(number), "sequence number {number} a second time");
        }
    }

    /// The flash holds what was acknowledged.
    pub fn check<F: MultiwriteNorFlash>(&self, flash: F, layout: &Layout) {
        assert_eq!(read(flash, layout), self.contents);
    }

    /// The flash holds what was acknowledged, and the step that was interrupted is made or not. The
    /// model then follows the flash.
    pub fn check_interrupted<F: MultiwriteNorFlash>(&mut self, flash: F, layout: &Layout, step: Step) {
        let found = read(flash, layout);
        let made = self.after(step).contents;
        let (before, after) = (&self.contents, &made);
        one_of("ratchet", &found.ratchet, &before.ratchet, &after.ratchet);
        one_of("newest epoch", &found.newest_epoch, &before.newest_epoch, &after.newest_epoch);
        one_of("address", &found.address, &before.address, &after.address);
        one_of("authorities", &found.authorities, &before.authorities, &after.authorities);
        one_of("document", &found.document, &before.document, &after.document);
        one_of("messages", &found.messages, &before.messages, &after.messages);
        if let Step::ForgetTags(epoch) = step {
            let kept: Vec<_> = found.tags.iter().copied().filter(|(of, _)| *of >= epoch).collect();
            assert_eq!(kept, after.tags, "tags that were not to be forgotten");
            assert!(found.tags.iter().all(|tag| before.tags.contains(tag)), "tags that never were");
        } else {
            // A word that was torn stands for a few digests, of a packet that did not leave.
            let mut torn = found.tags.clone();
            for tag in &before.tags {
                let at = torn.iter().position(|found| found == tag);
                torn.remove(at.unwrap_or_else(|| panic!("{tag:?} is forgotten")));
            }
            let is_tag = |epoch: u32| matches!(step, Step::Tag { epoch: of, .. } if of == epoch);
            assert!(torn.len() <= 4 && torn.iter().all(|(epoch, _)| is_tag(*epoch)), "{step:?}: {torn:?}");
        }
        self.contents = found;
    }
}

fn one_of<T: PartialEq + Debug>(what: &str, found: &T, before: &T, after: &T) {
    assert!(found == before || found == after, "{what}: {found:?} is neither {before:?} nor {after:?}");
}

/// Opens the store in a flash and reads all there is. Messages can be read only one after the
/// other, so this takes a copy of the flash.
pub fn read<F: MultiwriteNorFlash>(flash: F, layout: &Layout) -> Contents {
    let mut store = Store::open(flash, layout.clone()).unwrap();
    let mut keys = [[0; 32]; MAX_AUTHORITIES];
    let mut document = vec![0; store.document_capacity()];
    let mut tags = Vec::new();
    for epoch in EPOCHS {
        store
            .each_tag(Epoch(epoch), |admitted| tags.push((admitted.epoch.0, number(admitted.digest))))
            .unwrap();
    }
    let mut messages = VecDeque::new();
    let mut data = [0; MAX_MESSAGE_LEN];
    while let Some((id, data)) = store.oldest_message(&mut data).unwrap() {
        messages.push_back((id, data.to_vec()));
        store.remove_oldest_message().unwrap();
    }
    let ratchet = store.ratchet().unwrap();
    Contents {
        ratchet: ratchet.map(|ratchet| (ratchet.epoch().0, *ratchet.expose_seed())),
        newest_epoch: store.newest_epoch().unwrap().map(|epoch| epoch.0),
        address: store.address().unwrap(),
        authorities: store
            .authorities(&mut keys)
            .unwrap()
            .map(|(threshold, keys)| (threshold, keys.to_vec())),
        document: store.document(&mut document).unwrap().map(<[u8]>::to_vec),
        tags,
        messages,
    }
}
