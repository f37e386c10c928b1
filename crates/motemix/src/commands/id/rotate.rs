//! A new key in place of an old one.
//!
//! ```text
//! KEY ─ make KEY.new ─ sign and write the statement ─ KEY.new becomes KEY ─ forget the old counter
//! ```
//!
//! Each step is on the disk before the next one. Interrupted, the same command goes on where it
//! was: what is there already is used.

use crate::cli::IdRotate;
use crate::commands::object::unarmoured;
use crate::failure::Failure;
use crate::report;
use motemix_host::keys::DeviceKey;
use motemix_host::store::file;
use motemix_object::{Signer as _, check_retirement, retire};
use motemix_readings::Counter;
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn rotate(args: &IdRotate) -> Result<(), Failure> {
    let next_path = beside(&args.key);
    let mut old = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let mut new = if next_path.exists() {
        DeviceKey::load(&next_path).map_err(Failure::broken)?
    } else {
        let others: Vec<_> =
            old.credential().others().map(|other| (other.kind, other.value.to_vec())).collect();
        let algorithm = old.signer().public_key().algorithm();
        DeviceKey::create(&next_path, algorithm, &others).map_err(Failure::failed)?
    };
    let (before, after) = (old.identity(), new.identity());
    match std::fs::read(&args.statement) {
        // Written before the interruption.
        Ok(statement)
            if check_retirement(&unarmoured(statement.clone()), &before)
                .is_ok_and(|(found, _)| found == after) => {}
        Ok(_) => {
            let _ = std::fs::remove_file(&next_path);
            return Err(Failure::broken(format!(
                "{}: there is something else already; name another file",
                args.statement.display()
            )));
        }
        Err(_) => write_statement(&mut old, &mut new, &args.statement)?,
    }
    let moved = std::fs::rename(&next_path, &args.key).and_then(|()| sync_folder(&args.key));
    moved.map_err(|error| Failure::failed(format!("{}: {error}; run this again", args.key.display())))?;
    // Its numbers were the old key's. One that is left over is only high.
    let _ = std::fs::remove_file(Counter::beside(&args.key).path());
    if args.json {
        return Ok(report::print_json(
            &json!({ "retired": before.to_string(), "identity": after.to_string() }),
        )?);
    }
    let said = format!(
        "{before:.32} is retired, and {after:.32} has taken its place; give {} to whoever believes the device\n",
        args.statement.display()
    );
    Ok(report::print(said.as_bytes())?)
}

fn write_statement(old: &mut DeviceKey, new: &mut DeviceKey, path: &Path) -> Result<(), Failure> {
    let mut out = vec![0; 8192];
    let ((old, before), (new, after)) = (old.parts(), new.parts());
    let len = retire(old, &before, new, &after, &mut out).map_err(Failure::failed)?;
    let text = hex::encode(&out[..len]) + "\n";
    file::create(path, 0o644, text.as_bytes()).map_err(|error| {
        Failure::failed(format!("{}: {error}; check the folder, then run this again", path.display()))
    })
}

fn beside(key: &Path) -> PathBuf {
    let mut name = key.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}
