//! `primitives`: group, key derivation, stream, MAC, wide block, padding.

use motemix_crypto::Secret;
use motemix_crypto::p224::{self, COMPRESSED_LEN, Point, SCALAR_LEN, Scalar, ShortScalar};

use super::curve::Constants;
use super::entry::{Entry, Stop};
use super::refusals::INFINITY;
use motemix_loopix::pack::P224_NID;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::{KEY, extract, mac, xor_ctr};
use motemix_loopix::packet::{HopKeys, body};

/// What is padded has at most so many bytes.
const LONGEST: usize = 1 << 20;
/// A wide block has at least so many bytes.
const SHORTEST_BLOCK: usize = 2 * K;

/// Checks all of them.
pub fn check(primitives: &Entry<'_>) {
    primitives.part("group", group);
    primitives.each("base_mul", base_mul);
    primitives.each("point_mul", point_mul);
    primitives.each("kdf", kdf);
    primitives.each("labels", labels);
    primitives.each("aes_ctr", |entry| stream(entry, &entry.array("iv")?));
    primitives.each("rho", |entry| stream(entry, &[0; K]));
    primitives.each("mu", |entry| {
        entry.expect_bytes("mac", mac(entry.secret("key")?.expose(), &[&entry.bytes("data")?]));
        Ok(())
    });
    primitives.each("lioness", wide_block);
    primitives.each("pad_body", pad);
    primitives.each("unpad_body", |entry| {
        expect_unpadded(entry, "out", &entry.bytes("in")?);
        Ok(())
    });
}

fn group(entry: &Entry<'_>) -> Result<(), Stop> {
    entry.expect("name", "secp224r1");
    entry.expect("nid", P224_NID);
    entry.expect_bytes("generator", Point::GENERATOR.compress());
    entry.expect_bytes("generator_uncompressed", Point::GENERATOR.to_uncompressed());
    entry.expect_bytes("infinity", INFINITY);
    // Each constant is worked out with those before it.
    let order = entry.at("order")?;
    let Some(constants) = Constants::of_group(&order.as_array()?) else {
        return Err(order.stop("is not the order of the group"));
    };
    order.holds("times G", true, "");
    entry.expect_bytes("p", constants.prime());
    let a = entry.at("a")?;
    a.holds("at two points", constants.fits_a(&a.as_array()?), "the points do not satisfy the equation");
    entry.expect_bytes("b", constants.b());
    Ok(())
}

/// A member that is a scalar; zero is none.
pub fn scalar(entry: &Entry<'_>, key: &str) -> Result<Option<Scalar>, Stop> {
    let bytes = entry.secret::<SCALAR_LEN>(key)?;
    match Scalar::from_be_bytes(&bytes) {
        None if *bytes.expose() != [0; SCALAR_LEN] => Err(entry.at(key)?.stop("is not below the order")),
        scalar => Ok(scalar),
    }
}

/// A member that is a scalar and not zero.
pub fn secret(entry: &Entry<'_>, key: &str) -> Result<Scalar, Stop> {
    match scalar(entry, key)? {
        Some(scalar) => Ok(scalar),
        None => Err(entry.at(key)?.stop("is zero")),
    }
}

/// A member that is a point and not infinity.
pub fn point(entry: &Entry<'_>, key: &str) -> Result<Point, Stop> {
    match Point::decompress(&entry.array::<COMPRESSED_LEN>(key)?) {
        Some(point) => Ok(point),
        None => Err(entry.at(key)?.stop("is not a point of the curve")),
    }
}

fn base_mul(entry: &Entry<'_>) -> Result<(), Stop> {
    if let Some(k) = scalar(entry, "k")? {
        let product = Point::mul_generator(&k);
        entry.expect_bytes("point", product.compress());
        entry.expect_bytes("uncompressed", product.to_uncompressed());
    } else {
        // There is no scalar zero here, so nothing comes to infinity.
        entry.expect_bytes("point", INFINITY);
        entry.expect_bytes("uncompressed", INFINITY);
    }
    Ok(())
}

fn point_mul(entry: &Entry<'_>) -> Result<(), Stop> {
    let (k, point) = (secret(entry, "k")?, point(entry, "in")?);
    let product = point.mul(&k);
    entry.expect_bytes("out", product.compress());
    let shared = p224::diffie_hellman(&k, &point);
    let is_same = *shared.expose() == product.to_uncompressed();
    entry.at("out")?.holds("as a shared secret", is_same, "differs from the product");
    Ok(())
}

fn kdf(entry: &Entry<'_>) -> Result<(), Stop> {
    let bytes = entry.bytes("point")?;
    // No point here is infinity; what would be hashed for it is known nevertheless.
    let hashed = if bytes == INFINITY { bytes } else { point(entry, "point")?.to_uncompressed().to_vec() };
    entry.expect_bytes("hashed", [KEY, &hashed].concat());
    entry.expect_bytes("aes_key", extract(&hashed).expose());
    Ok(())
}

fn labels(entry: &Entry<'_>) -> Result<(), Stop> {
    let keys = HopKeys::from_key(&entry.secret("aes_key")?);
    entry.expect_bytes("hb_raw", keys.short_blinding().expose());
    expect_blinding(entry, "hb", keys.short_blinding());
    expect_keys(entry, &keys);
    Ok(())
}

/// Checks the blinding factor, as a number modulo the order.
pub fn expect_blinding(entry: &Entry<'_>, key: &str, factor: &Secret<K>) {
    match ShortScalar::from_be_bytes(factor) {
        Some(factor) => entry.expect_bytes(key, factor.widen().to_be_bytes().expose()),
        None => entry.expect_bytes(key, [0; SCALAR_LEN]),
    }
}

/// Checks the keys of a hop other than the blinding factor.
pub fn expect_keys(entry: &Entry<'_>, keys: &HopKeys) {
    entry.expect_bytes("hrho", keys.stream_key().expose());
    entry.expect_bytes("hmu", keys.mac_key().expose());
    entry.expect_bytes("hpi", keys.payload().expose());
    entry.expect_bytes("htau", keys.replay_tag().0);
}

fn stream(entry: &Entry<'_>, iv: &[u8; K]) -> Result<(), Stop> {
    let mut bytes = entry.bytes("in")?;
    xor_ctr(entry.secret("key")?.expose(), iv, &mut bytes);
    entry.expect_bytes("out", bytes);
    Ok(())
}

fn wide_block(entry: &Entry<'_>) -> Result<(), Stop> {
    let key = entry.secret("key")?;
    let (mut plain, mut cipher) = (entry.bytes("plain")?, entry.bytes("cipher")?);
    for (name, block) in [("plain", &plain), ("cipher", &cipher)] {
        if block.len() < SHORTEST_BLOCK {
            return Err(entry.at(name)?.stop("is shorter than a wide block"));
        }
    }
    body::encrypt(&key, &mut plain);
    entry.expect_bytes("cipher", plain);
    body::decrypt(&key, &mut cipher);
    entry.expect_bytes("plain", cipher);
    Ok(())
}

fn pad(entry: &Entry<'_>) -> Result<(), Stop> {
    let mut padded = vec![0; entry.len("total", &(0..=LONGEST))?];
    let fits = body::pad(&entry.bytes("in")?, &mut padded).is_some();
    if entry.optional("error").is_some() {
        entry.skip("error");
        entry.at("error")?.holds("refused", !fits, "the message was padded");
        return Ok(());
    }
    let out = if fits { Ok(&padded) } else { Err("there is no room for it") };
    entry.expect_found("out", out);
    expect_unpadded(entry, "unpad", &padded);
    Ok(())
}

/// Where the reference says nothing of missing padding and returns the empty string, nothing is
/// returned here.
fn expect_unpadded(entry: &Entry<'_>, key: &str, padded: &[u8]) {
    entry.expect_bytes(key, body::unpad(padded).unwrap_or_default());
}
