//! Numbers of content formats (IANA, CoAP Content-Formats).

/// `text/plain; charset=utf-8`
pub const TEXT: u16 = 0;
/// `application/cose; cose-type="cose-sign1"`, RFC 9052
pub const COSE_SIGN1: u16 = 18;
/// `application/link-format`, RFC 6690
pub const LINK_FORMAT: u16 = 40;
/// `application/octet-stream`
pub const OCTETS: u16 = 42;
/// `application/json`
pub const JSON: u16 = 50;
/// `application/cbor`, RFC 8949
pub const CBOR: u16 = 60;
/// `application/senml+json`, RFC 8428
pub const SENML_JSON: u16 = 110;
/// `application/senml+cbor`, RFC 8428
pub const SENML_CBOR: u16 = 112;
/// `application/core-pubsub+cbor`, asked for in draft-ietf-core-coap-pubsub
pub const CORE_PUBSUB_CBOR: u16 = 606;
