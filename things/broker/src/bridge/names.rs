//! Names of topics, which anybody chooses, as parts of MQTT topics and of identifiers.
//!
//! Both forms can be read back in one way alone, so two names never meet in one MQTT topic.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Bytes of a name's form above which its digest stands for it.
const MAX_LEN: usize = 512;
/// MQTT brokers refuse topics of very many levels: slashes after these are written as others are.
const MAX_LEVELS: usize = 32;
/// What stands before and behind an object identifier has room in a file's name, too.
const MAX_OBJECT_LEN: usize = 160;

/// A name as levels of an MQTT topic: its slashes part levels, and `%` with two hexadecimal digits
/// is a byte that MQTT or its tools would take for something else. A name whose form is long is
/// `%~` and its digest.
pub fn level_of_topic(name: &str) -> String {
    let mut levels = 1_usize;
    let mut form = String::with_capacity(name.len());
    for letter in name.chars() {
        let is_level = letter == '/' && levels < MAX_LEVELS;
        if is_level {
            levels = levels.saturating_add(1);
        }
        if is_level || !(letter == '/' || is_special(letter)) {
            form.push(letter);
        } else {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                let _ = write!(form, "%{byte:02x}");
            }
        }
    }
    if form.len() > MAX_LEN { format!("%~{}", digest(name)) } else { form }
}

/// Wildcards, what begins topics of the MQTT broker itself, what marks an escape, and what no text
/// of MQTT may have (MQTT 5, 1.5.4): control characters and those that Unicode gives no meaning.
fn is_special(letter: char) -> bool {
    let code = u32::from(letter);
    letter.is_control()
        || matches!(letter, '+' | '#' | '$' | '%' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || (0xfdd0..=0xfdef).contains(&code)
        || code & 0xfffe == 0xfffe
}

/// A name in letters, digits, `-` for a slash, and `_` with two hexadecimal digits for any other
/// byte. No form has `__` in it or ends with `_`, so `__` may stand between two of them.
pub fn object_id(name: &str) -> String {
    let mut form = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => form.push(char::from(byte)),
            b'/' => form.push('-'),
            _ => {
                let _ = write!(form, "_{byte:02x}");
            }
        }
    }
    // `_h` is the form of no byte.
    if form.len() > MAX_OBJECT_LEN { format!("_h{}", digest(name)) } else { form }
}

fn digest(name: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(name.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_and_hostile_ones_do_no_harm() {
        let forms = [
            ("building/3/temperature", "building/3/temperature", "building-3-temperature"),
            ("a/+/#", "a/%2b/%23", "a-_2b-_23"),
            ("$SYS/broker", "%24SYS/broker", "_24SYS-broker"),
            ("100%", "100%25", "100_25"),
            ("a\u{0}b\nc\u{7f}", "a%00b%0ac%7f", "a_00b_0ac_7f"),
            ("Küche", "Küche", "K_c3_bcche"),
            ("a-b_c", "a-b_c", "a_2db_5fc"),
            ("\u{ffff}", "%ef%bf%bf", "_ef_bf_bf"),
        ];
        for (name, topic, object) in forms {
            assert_eq!(level_of_topic(name), topic);
            assert_eq!(object_id(name), object);
        }
    }

    #[test]
    fn long_and_deep_names_have_forms_that_brokers_take() {
        let deep = "a/".repeat(100);
        assert_eq!(level_of_topic(&deep).matches('/').count(), MAX_LEVELS - 1);
        for length in [MAX_LEN, MAX_LEN + 1, 60_000] {
            let long = "x".repeat(length);
            assert!(level_of_topic(&long).len() <= MAX_LEN);
            assert!(object_id(&long).len() <= MAX_OBJECT_LEN);
        }
        // The digest of one name is not the form of another.
        let digest = level_of_topic(&"x".repeat(1000));
        assert_ne!(level_of_topic(&digest), digest);
        let digest = object_id(&"x".repeat(1000));
        assert_ne!(object_id(&digest), digest);
    }

    #[test]
    fn names_that_differ_little_never_meet() {
        let alphabet = ['a', '/', '_', '-', '%', '+', '5', 'f', '~', 'h', '\n'];
        let mut topics = BTreeMap::new();
        let mut objects = BTreeMap::new();
        let mut names = vec![String::new()];
        for _ in 0..4 {
            names = names.iter().flat_map(|name| alphabet.map(|letter| format!("{name}{letter}"))).collect();
            for name in &names {
                assert_eq!(topics.insert(level_of_topic(name), name.clone()), None);
                assert_eq!(objects.insert(object_id(name), name.clone()), None);
            }
        }
    }

    proptest! {
        #[test]
        fn any_name_is_a_topic_of_mqtt_and_an_identifier(name in any::<String>()) {
            let topic = level_of_topic(&name);
            prop_assert!(rumqttc::valid_topic(&topic));
            prop_assert!(!topic.starts_with('$') && !topic.contains(|letter: char| letter.is_control()));
            let object = object_id(&name);
            prop_assert!(object.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
            prop_assert!(!object.contains("__") && !object.ends_with('_'));
        }
    }
}
