//! The calls of a network document: opened once, with every check, then asked.

use core::mem::{align_of, size_of};
use core::ptr;

use motemix_directory::{
    Authorities, AuthorityKey, Epoch, MAX_SIGNATURES, NetworkDocument, ProfileName, SignedDocument, UnixTime,
};

use crate::descriptor::{About, Descriptor};
use crate::raw;
use crate::status::{Status, done};

/// No epoch was seen before: for motemix_document_open.
pub const NO_EPOCH: u64 = 0xffff_ffff_ffff_ffff;
/// The board has no clock: a document is taken to be of the present, and only its signatures and
/// its epoch are checked. That keeps documents out that are older than one
/// seen before; whoever can keep new documents from the board can hold it in the past.
pub const TIME_UNKNOWN: u64 = 0xffff_ffff_ffff_ffff;

/// Words of 64 bits of a document.
pub const DOCUMENT_WORDS: usize = 26;

/// An opened document. Only the library knows what is in it; it lies wherever the program puts it,
/// and may be copied and forgotten. It borrows the bytes that it was opened from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// The library's.
    pub opaque: [u64; DOCUMENT_WORDS],
}

struct Opened {
    state: u32,
    document: NetworkDocument<'static>,
}

/// Unlikely in memory that no document was opened in.
const OPEN: u32 = 0x646f_6375;

const _: () = assert!(size_of::<Opened>() <= size_of::<Document>());
const _: () = assert!(align_of::<Opened>() <= align_of::<Document>());
// It may be copied and forgotten only if nothing has to be dropped.
const _: () = assert!(!core::mem::needs_drop::<Opened>());

/// Whom the caller trusts to describe the network.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// The authorities' Ed25519 public keys, 32 bytes each, one after the other.
    pub authority_keys: *const u8,
    /// How many keys, 1 to 16.
    pub authorities: u8,
    /// How many of them must have signed, 1 or more.
    pub threshold: u8,
}

/// The document that was opened there.
///
/// # Safety
/// `document` is null or readable. If it was opened, the bytes that it was opened from are still
/// there, and nobody writes to them or to it during `'a`.
pub(crate) unsafe fn opened<'a>(document: *const Document) -> Result<&'a NetworkDocument<'a>, Status> {
    // SAFETY: the caller's promise; any bytes are a `Document`.
    let place = ptr::from_ref(unsafe { raw::value(document)? }).cast::<Opened>();
    // SAFETY: `Opened` fits into a `Document` by size and alignment, and a number is read of it.
    if unsafe { ptr::addr_of!((*place).state).read() } != OPEN {
        return Err(Status::NotADocument);
    }
    // SAFETY: the state says that `motemix_document_open` wrote an `Opened`.
    Ok(unsafe { &(*place).document })
}

/// Opens a signed network document: counts the signatures, checks every field, its time and its
/// profile. `bytes` are borrowed, `len` of them, until the last use of `document`; they may lie in
/// flash. `unix_time` is the present in seconds since 1970, or MOTEMIX_TIME_UNKNOWN. `newest_epoch`
/// is the epoch of the newest document that this node has ever opened, which it should keep over
/// restarts, or MOTEMIX_NO_EPOCH. One signature verification for each authority at most.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_open(
    document: *mut Document,
    bytes: *const u8,
    len: usize,
    trust: *const Trust,
    unix_time: u64,
    newest_epoch: u64,
) -> Status {
    done((|| {
        // SAFETY: the caller's promise.
        let (place, trust) = unsafe { (raw::place(document)?, raw::value(trust)?) };
        // A document that is not opened in the end must not be taken for the one of before.
        place.put(Document { opaque: [0; DOCUMENT_WORDS] });
        let count = usize::from(trust.authorities);
        // SAFETY: the caller's promise, for 32 bytes each.
        let (bytes, keys) =
            unsafe { (raw::bytes(bytes, len)?, raw::bytes(trust.authority_keys, 32 * count)?) };
        let opened =
            Opened { state: OPEN, document: open(bytes, keys, trust.threshold, unix_time, newest_epoch)? };
        // SAFETY: `place` checked the pointer; an `Opened` fits into a `Document` by size and
        // alignment.
        unsafe { document.cast::<Opened>().write(opened) };
        Ok(())
    })())
}

fn open<'a>(
    bytes: &'a [u8],
    keys: &[u8],
    threshold: u8,
    unix_time: u64,
    newest_epoch: u64,
) -> Result<NetworkDocument<'a>, Status> {
    let (keys, _) = keys.as_chunks::<32>();
    let first = AuthorityKey::from_bytes(keys.first().ok_or(Status::BadAuthorities)?);
    let mut known = [first.map_err(|_| Status::BadAuthorities)?; MAX_SIGNATURES];
    let known = known.get_mut(..keys.len()).ok_or(Status::BadAuthorities)?;
    for (place, key) in known.iter_mut().zip(keys) {
        *place = AuthorityKey::from_bytes(key).map_err(|_| Status::BadAuthorities)?;
    }
    let authorities = Authorities::new(known, threshold)?;
    let verified = SignedDocument::parse(bytes)?.verify(&authorities)?;
    let now = if unix_time == TIME_UNKNOWN { verified.valid_after() } else { UnixTime(unix_time) };
    let newest = u32::try_from(newest_epoch).ok().map(Epoch);
    let document = verified.admit(now, newest)?;
    if document.profile() == ProfileName::Mote { Ok(document) } else { Err(Status::DocumentProfile) }
}

/// Closes a document, after which the bytes may go. Nothing leaks if this is left out.
///
/// # Safety
/// `document` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_close(document: *mut Document) -> Status {
    // SAFETY: the caller's promise.
    done(unsafe { raw::place(document) }.map(|place| place.put(Document { opaque: [0; DOCUMENT_WORDS] })))
}

/// What a document says besides its nodes.
///
/// # Safety
/// `document` is null or memory of a document, `about` null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_about(document: *const Document, about: *mut About) -> Status {
    done((|| {
        // SAFETY: the caller's promise.
        let (document, out) = unsafe { (opened(document)?, raw::place(about)?) };
        out.put(document.into());
        Ok(())
    })())
}

/// Finds a node, writes it to where the caller wants it.
///
/// # Safety
/// `document` is null or memory of a document, `out` null or valid.
unsafe fn find(
    document: *const Document,
    out: *mut Descriptor,
    is_it: impl Fn(&motemix_directory::DocumentNode<'_>) -> bool,
) -> Status {
    done((|| {
        // SAFETY: the caller's promise.
        let (document, out) = unsafe { (opened(document)?, raw::place(out)?) };
        out.put(document.nodes().find(is_it).ok_or(Status::UnknownNode)?.into());
        Ok(())
    })())
}

/// The node of this number. Reads the document from its beginning, as all searches do.
///
/// # Safety
/// `document` is null or memory of a document, `descriptor` null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_node(
    document: *const Document,
    id: u16,
    descriptor: *mut Descriptor,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { find(document, descriptor, |node| node.id.get() == id) }
}

/// The node of this name, of `len` bytes.
///
/// # Safety
/// `document` is null or memory of a document, `name` null or valid for `len` bytes, `descriptor`
/// null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_find(
    document: *const Document,
    name: *const core::ffi::c_char,
    len: usize,
    descriptor: *mut Descriptor,
) -> Status {
    // SAFETY: the caller's promise.
    match unsafe { raw::bytes(name.cast(), len) } {
        // SAFETY: the caller's promise.
        Ok(name) => unsafe { find(document, descriptor, |node| node.name.as_bytes() == name) },
        Err(status) => status,
    }
}

/// The node with this mix key of 32 bytes: how a node learns which one it is.
///
/// # Safety
/// `document` is null or memory of a document, `mix_key` null or valid for 32 bytes, `descriptor`
/// null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_document_find_key(
    document: *const Document,
    mix_key: *const u8,
    descriptor: *mut Descriptor,
) -> Status {
    // SAFETY: the caller's promise.
    match unsafe { raw::value(mix_key.cast::<[u8; 32]>()) } {
        // SAFETY: the caller's promise.
        Ok(key) => unsafe { find(document, descriptor, |node| node.mix_key.0 == *key) },
        Err(status) => status,
    }
}
