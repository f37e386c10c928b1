//! The payload of a document: what the authorities sign.

use crate::builder::BuildError;
use crate::cbor::{Full, Keys, Reader, Writer};
use crate::error::{DocumentError, Field, Flaw};
use crate::node::{Nodes, read_name};
use crate::parameters::Parameters;
use crate::profile::ProfileName;
use crate::types::MAX_NODES;
use motemix_time::{Epoch, UnixTime};

/// What a document says besides its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draft<'d> {
    /// 1 to 32 bytes of `[a-z0-9-]`.
    pub network_name: &'d str,
    /// Above that of every document published before.
    pub epoch: Epoch,
    /// The first second in which it may be used.
    pub valid_after: UnixTime,
    /// The first second in which it may no longer be used; after `valid_after`.
    pub valid_until: UnixTime,
    /// The packet profile.
    pub profile: ProfileName,
    /// What all nodes must agree on.
    pub parameters: Parameters,
}

/// The format's version.
const VERSION: u64 = 1;

/// Bytes that an encoded draft takes at most.
pub const MAX_DRAFT_LEN: usize = 160;

impl<'d> Draft<'d> {
    /// Encodes it as the first seven fields of a payload, for authorities that agree on a draft
    /// before they know the nodes.
    ///
    /// # Errors
    /// [`BuildError::Refused`], [`BuildError::Inexact`], or [`BuildError::BufferTooSmall`] if `out`
    /// has fewer than [`MAX_DRAFT_LEN`] bytes.
    pub fn encode<'b>(&self, out: &'b mut [u8]) -> Result<&'b [u8], BuildError> {
        if let Some(field) = self.parameters.inexact() {
            return Err(BuildError::Inexact { field });
        }
        let mut writer = Writer::new(out);
        writer.map(7)?;
        write_fields(&mut writer, self)?;
        let len = writer.written();
        let encoded = out.get(..len).ok_or(BuildError::BufferTooSmall)?;
        Draft::parse(encoded)?;
        Ok(encoded)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`].
    pub fn parse(encoded: &'d [u8]) -> Result<Self, DocumentError> {
        let reader = &mut Reader::new(encoded, 0, Field::Payload);
        let mut keys = reader.map()?;
        let draft = read_fields(reader, &mut keys)?;
        keys.finish(reader, Field::Payload)?;
        reader.finish(Field::Payload)?;
        Ok(draft)
    }
}

/// The fields before the nodes.
fn read_fields<'a>(reader: &mut Reader<'a>, keys: &mut Keys) -> Result<Draft<'a>, DocumentError> {
    keys.next(reader, Field::Version)?.uint(VERSION, VERSION)?;
    let network_name = read_name(keys.next(reader, Field::NetworkName)?)?;
    let epoch = keys.next(reader, Field::Epoch)?.uint(0, u64::from(u32::MAX))?;
    let valid_after = keys.next(reader, Field::ValidAfter)?.uint(0, u64::MAX - 1)?;
    let valid_until = keys.next(reader, Field::ValidUntil)?.uint(valid_after + 1, u64::MAX)?;
    let profile = keys.next(reader, Field::Profile)?.uint(0, u64::MAX)?;
    let profile = ProfileName::from_code(profile).ok_or_else(|| reader.refuse(Flaw::UnknownProfile))?;
    keys.next(reader, Field::Parameters)?;
    let parameters = Parameters::read(reader, profile, valid_until - valid_after)?;
    Ok(Draft {
        network_name,
        epoch: Epoch(epoch as u32),
        valid_after: UnixTime(valid_after),
        valid_until: UnixTime(valid_until),
        profile,
        parameters,
    })
}

/// A payload of which every field was checked.
#[derive(Clone, Debug)]
pub(crate) struct Contents<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) nodes: Nodes<'a>,
}

impl<'a> Contents<'a> {
    /// `offset` is that of the payload in the file, for errors.
    #[inline(never)]
    pub(crate) fn read(payload: &'a [u8], offset: usize) -> Result<Self, DocumentError> {
        let reader = &mut Reader::new(payload, offset, Field::Payload);
        let mut keys = reader.map()?;
        let draft = read_fields(reader, &mut keys)?;
        let count = keys.next(reader, Field::Nodes)?.array(1, MAX_NODES as u32)?;
        let nodes = Nodes::read(reader, count as u16)?;
        if draft.parameters.protected_links {
            nodes.told_apart()?;
        }
        keys.finish(reader, Field::Payload)?;
        reader.finish(Field::Payload)?;
        Ok(Self { draft, nodes })
    }
}

/// Writes everything up to the nodes, of which there will be `node_count`.
pub(crate) fn write_head(writer: &mut Writer<'_>, draft: &Draft<'_>, node_count: usize) -> Result<(), Full> {
    writer.map(8)?;
    write_fields(writer, draft)?;
    writer.uint(8)?;
    writer.array(node_count)
}

fn write_fields(writer: &mut Writer<'_>, draft: &Draft<'_>) -> Result<(), Full> {
    writer.pair(1, VERSION)?;
    writer.uint(2)?;
    writer.text(draft.network_name)?;
    writer.pair(3, u64::from(draft.epoch.0))?;
    writer.pair(4, draft.valid_after.0)?;
    writer.pair(5, draft.valid_until.0)?;
    writer.pair(6, u64::from(draft.profile.code()))?;
    writer.uint(7)?;
    draft.parameters.write(writer)
}
