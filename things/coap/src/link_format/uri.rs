//! As much of URIs as links need (RFC 3986).

use std::borrow::Cow;

/// The scheme and authority of a URI, under which references that begin with one slash are
/// resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'u>(&'u str);

impl<'u> Origin<'u> {
    /// That of a URI; none if it has no scheme and no authority.
    pub fn of(uri: &'u str) -> Option<Self> {
        let (scheme, rest) = uri.split_once("://")?;
        let len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if !is_scheme(scheme) || len == 0 {
            return None;
        }
        Some(Self(uri.get(..scheme.len() + 3 + len)?))
    }

    /// Scheme and authority, `coap://[2001:db8::1]:61616`.
    pub const fn as_str(self) -> &'u str {
        self.0
    }

    /// The host and port.
    pub fn authority(self) -> &'u str {
        self.0.split_once("://").map_or("", |(_, authority)| authority)
    }

    /// The URI that a reference stands for, if it is in Limited Link Format (RFC 9176, D): a URI,
    /// which stays as it is, or a path that begins with one slash.
    pub fn resolve(self, reference: &str) -> Option<Cow<'_, str>> {
        if has_scheme(reference) {
            return Some(Cow::Borrowed(reference));
        }
        if !is_path_absolute(reference) {
            return None;
        }
        Some(Cow::Owned(format!("{}{}", self.0, without_dots(reference))))
    }

    /// Whether a reference is one that [`resolve`](Self::resolve) takes.
    pub fn takes(reference: &str) -> bool {
        has_scheme(reference) || is_path_absolute(reference)
    }
}

fn is_path_absolute(reference: &str) -> bool {
    reference.starts_with('/') && !reference.starts_with("//")
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Without `.` and `..` in the path (RFC 3986 §5.2.4).
fn without_dots(reference: &str) -> Cow<'_, str> {
    let len = reference.find(['?', '#']).unwrap_or(reference.len());
    let (path, rest) = reference.split_at(len);
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Cow::Borrowed(reference);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                // A folder stays one.
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    let path: String = kept.iter().flat_map(|segment| ["/", segment]).collect();
    // One slash at the front, or what follows would be an authority.
    let path = path.trim_start_matches('/');
    Cow::Owned(format!("/{path}{rest}"))
}

/// A URI in which only what needs percent-encoding has it, as far as that changes no meaning
/// (RFC 3986 §6.2.2.2): unreserved characters, and those that are not ASCII, are decoded.
pub fn normalise(uri: &str) -> Cow<'_, str> {
    if !uri.contains('%') {
        return Cow::Borrowed(uri);
    }
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let decoded = match behind {
            [high, low, ..] if first == b'%' => {
                digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        match decoded {
            Some(byte) if !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(uri), Cow::Owned)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
