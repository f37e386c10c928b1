//! `petlib_pack`: values as msgpack, of Python 2 and of Python 3.

use super::entry::{Entry, Stop};
use motemix_loopix::pack;

/// Checks the values of one Python.
pub fn check(petlib_pack: &Entry<'_>) -> Result<(), Stop> {
    for (python, _) in petlib_pack.members()? {
        petlib_pack.each(python, value);
    }
    Ok(())
}

/// Both ways.
fn value(entry: &Entry<'_>) -> Result<(), Stop> {
    // How a Python program would write it.
    entry.skip("value");
    message(entry, "packed", "tree")
}

/// Checks that `packed` holds the value `tree`, and the other way round.
pub fn message(entry: &Entry<'_>, packed: &str, tree: &str) -> Result<(), Stop> {
    let value = entry.tree(tree)?;
    entry.expect_bytes(packed, pack::encode(&value));
    expect_decoded(entry, tree, &entry.bytes(packed)?)
}

/// Checks that `bytes` hold the value `tree`.
pub fn expect_decoded(entry: &Entry<'_>, tree: &str, bytes: &[u8]) -> Result<(), Stop> {
    match pack::decode(bytes) {
        Ok(found) => entry.expect_tree(tree, &found),
        Err(error) => {
            let expected = entry.at(tree)?;
            expected.holds("packed", false, format!("{} cannot be read: {error}", hex::encode(bytes)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::loopix::vectors::tree;

    #[test]
    fn a_tree_that_describes_nothing_is_refused() {
        for tree in [r#"{"arr":[{"int":1.5}]}"#, r#"{"bin":"zz"}"#, r#"{"ext":300,"data":""}"#, "{}", "7"] {
            let tree = serde_json::from_str(tree).expect("JSON");
            assert_eq!(tree::read(&tree), None, "{tree}");
        }
    }
}
