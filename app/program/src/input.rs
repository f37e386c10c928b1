//! What is typed or piped in.

use crate::failure::Failure;
use anyhow::Context;
use std::io::Read as _;

/// More than any packet carries; the node says how much that is.
const MOST_INPUT: u64 = 1 << 16;

/// The bytes to send; without a text, or with `-`, they are on stdin.
pub fn message(text: Option<&str>) -> Result<Vec<u8>, Failure> {
    let data = match text {
        Some(text) if text != "-" => text.as_bytes().to_vec(),
        _ => {
            let mut data = Vec::new();
            std::io::stdin().take(MOST_INPUT).read_to_end(&mut data).context("cannot read stdin")?;
            data
        }
    };
    if data.is_empty() {
        // Most often a command before the pipe has failed.
        return Err(Failure::broken("nothing to send: the message is empty; give a text, or pipe one in"));
    }
    Ok(data)
}
