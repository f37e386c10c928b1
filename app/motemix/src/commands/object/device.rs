//! What a device says of itself and of what it measured.

use super::{print, senml};
use motemix_object::{Algorithm, OVERHEAD, Path, Sealer, Signer as _, register as sign_registration};
use motemix_program::cli::{Format, ObjectIntroduce, ObjectRegister, ObjectSign, Path as Way};
use motemix_program::failure::Failure;
use motemix_program::report;
use motemix_readings::keys::DeviceKey;
use motemix_readings::{Counter, jws};

/// Room for a key, what may stand beside it, and a signature.
const STATEMENT_LEN: usize = 2048;

pub fn introduce(args: &ObjectIntroduce) -> Result<(), Failure> {
    let device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let mut out = [0; STATEMENT_LEN];
    let len = device.credential().encode(&mut out).map_err(Failure::failed)?;
    print(&out[..len], args.form.raw)
}

pub fn register(args: &ObjectRegister) -> Result<(), Failure> {
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let counter = Counter::beside(&args.key, &device.identity());
    if let Some(next) = args.next {
        move_on(&counter, next)?;
    }
    let next = counter.announce().map_err(Failure::broken)?;
    let mut out = [0; STATEMENT_LEN];
    let (signer, credential) = device.parts();
    let len = sign_registration(signer, &credential, !args.short, next, args.audience.get(), &mut out);
    print(&out[..len.map_err(Failure::failed)?], args.form.raw)
}

/// Moves a counter on to a number, and says so if it is further already.
pub fn move_on(counter: &Counter, to: u64) -> Result<(), Failure> {
    let next = counter.move_to(to).map_err(Failure::broken)?;
    if next > to {
        eprintln!("motemix: {}: {next} comes next already, and stays the next one", counter.path().display());
    }
    Ok(())
}

pub fn sign(args: &ObjectSign) -> Result<(), Failure> {
    let (cbor, pack) = senml(args.reading.as_deref())?;
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let path = match args.path {
        Way::Direct => Path::Direct,
        Way::Anonymous => {
            refuse_named(&args.key, &mut device)?;
            Path::Anonymous
        }
    };
    let number = Counter::beside(&args.key, &device.identity()).take().map_err(Failure::failed)?;
    let identity = device.identity();
    let mut sealer = Sealer { signer: device.signer(), identity, path, audience: args.audience.get() };
    if args.format == Format::Jws {
        let text = jws::seal(&mut sealer, number, &pack).map_err(Failure::failed)?;
        let line_end = if args.form.raw { "" } else { "\n" };
        return Ok(report::print((text + line_end).as_bytes())?);
    }
    let mut out = vec![0; cbor.len() + OVERHEAD + 8];
    let len = sealer.seal(number, &cbor, &mut out).map_err(Failure::failed)?;
    print(&out[..len], args.form.raw)
}

/// Refuses a key for an anonymous path if everybody can compute it from one of its signatures, and
/// so tell which of them are of one device.
pub fn refuse_named(file: &std::path::Path, device: &mut DeviceKey) -> Result<(), Failure> {
    if device.signer().public_key().algorithm() == Algorithm::Ed25519 {
        return Ok(());
    }
    Err(Failure::broken(format!(
        "{}: an ES256 key is not for an anonymous path, because anybody can compute it from a signature; use one that \
         `motemix id new --algorithm ed25519` made, or --path direct",
        file.display()
    )))
}
