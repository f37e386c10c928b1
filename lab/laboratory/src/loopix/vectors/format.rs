//! Which format a packet of the file has: that follows from who made it, and from its parameters.

use super::entry::{Entry, Stop};
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::{Blinding, BodyTag, Flags, Format};

/// `header_len` counts 32 bytes more than β has; lengths are written in 16 bits.
const HEADER_LENS: std::ops::RangeInclusive<usize> = 32..=65_535;
/// δ is a wide block.
const BODY_LENS: std::ops::RangeInclusive<usize> = 32..=65_535;

/// The format of a packet made by `env` with `params`.
pub fn read(entry: &Entry<'_>) -> Result<Format, Stop> {
    environment(entry, "env")?.with_lens(&entry.at("params")?)
}

/// What each of the reference's programs chose.
#[derive(Clone, Copy)]
pub struct Environment {
    flags: Flags,
    /// What stands before the payload.
    pub body_tag: BodyTag,
}

/// The environment that a member names.
pub fn environment(entry: &Entry<'_>, key: &str) -> Result<Environment, Stop> {
    let name = entry.text(key)?;
    of_name(name).ok_or_else(|| stop(entry, key))
}

fn stop(entry: &Entry<'_>, key: &str) -> Stop {
    match entry.at(key) {
        Ok(part) => part.stop("is not a program that is known here"),
        Err(stop) => stop,
    }
}

/// The environment of a name, as `py2-sphinxmix-0.0.6`.
pub fn of_name(name: &str) -> Option<Environment> {
    let (python, version) = name.split_once("-sphinxmix-")?;
    let flags = match python {
        "py2" => Flags::Bin,
        "py3" => Flags::Str,
        _ => return None,
    };
    // What was repaired to make a version run follows it.
    let body_tag = match version.split('+').next()? {
        "0.0.6" => BodyTag::Zero,
        "0.0.7" => BodyTag::Hmac,
        _ => return None,
    };
    Some(Environment { flags, body_tag })
}

impl Environment {
    /// A format with these lengths.
    pub const fn format(self, header_len: usize, body_len: usize) -> Format {
        let Self { flags, body_tag } = self;
        Format { header_len, body_len, flags, body_tag, blinding: Blinding::Short }
    }

    fn with_lens(self, params: &Entry<'_>) -> Result<Format, Stop> {
        params.expect("k", K);
        let header_len = params.len("header_len", &HEADER_LENS)?;
        Ok(self.format(header_len, params.len("body_len", &BODY_LENS)?))
    }
}

/// How the file calls what stands before the payload.
pub const fn tag_name(tag: BodyTag) -> &'static str {
    match tag {
        BodyTag::Zero => "zero",
        BodyTag::Hmac => "hmac",
    }
}
