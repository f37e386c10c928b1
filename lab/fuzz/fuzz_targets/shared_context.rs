//! Files with security contexts from whatever bytes: what is wrong is one line that names the file, and
//! what is right is a context, or one line that says why it cannot be one.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use std::path::Path;

use motemix_coap::oscore::{BLOCK, Context, Numbers, Preshared};
use motemix_readings::keys::SharedContext;
use motemix_time::Instant;

fn is_one_line(why: &impl ToString) {
    let why = why.to_string();
    assert!(!why.contains(['\n', '\r']) && why.len() < 300, "{why}");
}

fuzz_target!(|text: &[u8]| {
    let shared = match SharedContext::parse(Path::new("gate.context"), text) {
        Ok(shared) => shared,
        Err(why) => {
            assert!(why.to_string().starts_with("gate.context: "));
            return is_one_line(&why);
        }
    };
    let given = Preshared {
        name: "gate",
        master_secret: shared.secret(),
        master_salt: &shared.salt,
        id_context: shared.id_context.as_deref(),
        sender: &shared.own_id,
        recipient: &shared.peer_id,
    };
    let context = Context::preshared(Instant::from_micros(1), &given, Numbers::restored(0, BLOCK), None);
    match context {
        Ok(_) => assert!(shared.own_id != shared.peer_id, "both sides would use one key and nonce"),
        Err(why) => is_one_line(&why),
    }
});
