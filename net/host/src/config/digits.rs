//! Bytes as hexadecimal digits in a configuration.

/// An extended address as 16 hexadecimal digits.
pub(super) mod hex_address {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    pub(in crate::config) fn serialize<S: Serializer>(
        address: &[u8; 8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(address))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 8], D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut address = [0; 8];
        hex::decode_to_slice(&text, &mut address)
            .map_err(|_| D::Error::custom(format!("\"{text}\" is not 16 hex digits")))?;
        Ok(address)
    }
}

/// Lists of 32-byte keys as 64 hexadecimal digits each.
pub(super) mod hex_keys {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::config) fn serialize<S: Serializer>(
        keys: &[[u8; 32]],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(keys.iter().map(hex::encode))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<[u8; 32]>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts
            .iter()
            .map(|text| {
                let mut key = [0; 32];
                hex::decode_to_slice(text, &mut key)
                    .map_err(|_| D::Error::custom(format!("\"{text}\" is not 64 hex digits")))?;
                Ok(key)
            })
            .collect()
    }
}
