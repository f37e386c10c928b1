//! `errors`: what cannot be made.

use motemix_crypto::p224::Point;
use rmpv::Value;

use super::entry::{Entry, Stop};
use super::format::{Environment, of_name};
use super::script::Script;
use motemix_loopix::pack::binary;
use motemix_loopix::packet::{CreateError, Format, Hop, forward};

/// sphinxmix' own lengths.
const HEADER_LEN: usize = 192;
const BODY_LEN: usize = 1024;
/// The relay's name in the packets with which the reference was asked.
const RELAY: &[u8] = b"A";
const DESTINATION: &[u8] = b"bob";
const HOPS: usize = 3;
/// Two prefixes, flag, destination and end of the padding.
const LONGEST_MESSAGE: usize = BODY_LEN - 16 - 1 - 5 - 3 - 1;

/// Checks what each program refuses.
pub fn check(errors: &Entry<'_>) -> Result<(), Stop> {
    for (name, _) in errors.members()? {
        let environment = of_name(name);
        errors.each(name, |case| {
            // In the words of the reference.
            case.skip("error");
            let environment =
                environment.ok_or_else(|| case.stop("is of a program that is not known here"))?;
            refusal(case, environment)
        });
    }
    Ok(())
}

fn refusal(case: &Entry<'_>, environment: Environment) -> Result<(), Stop> {
    let format = environment.format(HEADER_LEN, BODY_LEN);
    let (made, refused, error) = match case.text("case")? {
        "message one byte too long" => (
            create(&format, HOPS, LONGEST_MESSAGE),
            create(&format, HOPS, LONGEST_MESSAGE + 1),
            CreateError::BodyFull,
        ),
        "eight hops in a 192-byte header" => {
            (create(&format, 7, 1), create(&format, 8, 1), CreateError::HeaderFull)
        }
        _ => return Err(case.at("case")?.stop("is not a case that is known here")),
    };
    case.holds("refused", refused == Err(error), format!("expected {error:?}, found {refused:?}"));
    case.holds("one less", made.is_ok(), format!("expected a packet, found {made:?}"));
    Ok(())
}

fn create(format: &Format, hops: usize, message_len: usize) -> Result<(), CreateError> {
    let routing = forward::relay(format, binary(RELAY));
    let path = vec![Hop { key: Point::GENERATOR, routing: &routing, associated: &[] }; hops];
    let payload = forward::payload(Value::from(DESTINATION), &vec![0; message_len]);
    forward::create(format, &path, &payload, &mut Script::new(&[])).map(drop)
}
