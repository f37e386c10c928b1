//! Texts that a stranger chose and a person reads.

use minicbor::Decoder;

use crate::sign1::{ObjectError, Part, take};

/// A text of up to so many bytes, without what would move a terminal's cursor.
pub(crate) fn read_text<'b>(decoder: &mut Decoder<'b>, most: usize) -> Result<&'b str, ObjectError> {
    let at = decoder.position();
    let text = take(decoder, Part::Text, Decoder::str)?;
    if is_text(text, most) { Ok(text) } else { Err(ObjectError::malformed(Part::Text, at)) }
}

pub(crate) fn is_text(text: &str, most: usize) -> bool {
    text.len() <= most && !text.chars().any(char::is_control)
}
