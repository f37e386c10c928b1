//! Python reads what is written here, with its own sqlite3 and json.

use crate::network::{client_folder, directory};
use motemix_loopix::files::keys;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Reads a node's folder as the originals do: rows by position, providers by name, values through
/// `float` and `int`.
const READER: &str = r#"
import json, sqlite3, sys
with open("config.json") as file:
    config = json.load(file)
clients, mixes, providers = (config["parameters" + role] for role in ("Clients", "Mixnodes", "Providers"))
connection = sqlite3.connect("example.db")
rows = lambda table: [
    [value.hex() if isinstance(value, bytes) else value for value in row[1:]]
    for row in connection.execute("SELECT * FROM " + table)
]
provider = connection.execute("SELECT * FROM Providers WHERE name = ?", ("Provider11",)).fetchone()
groups = [group for (group,) in connection.execute("SELECT DISTINCT groupId FROM Mixnodes ORDER BY groupId")]
print(json.dumps({
    "mixes": rows("Mixnodes"), "providers": rows("Providers"), "users": rows("Users"),
    "port": provider[2], "groups": groups,
    "loops": float(clients["EXP_PARAMS_LOOPS"]), "drop": float(clients["EXP_PARAMS_DROP"]),
    "payload": float(clients["EXP_PARAMS_PAYLOAD"]), "delay": float(mixes["EXP_PARAMS_DELAY"]),
    "pull": float(clients["TIME_PULL"]), "noise": int(mixes["NOISE_LENGTH"]),
    "retrieve": int(providers["MAX_RETRIEVE"]), "push": providers.get("PUSH_MESSAGES"),
    "database": mixes["DATABASE_NAME"],
}))
"#;

fn read_by_python(dir: &Path) -> Value {
    let output =
        Command::new("python3").args(["-c", READER]).current_dir(dir).output().expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn python_finds_everybody_and_every_value() {
    let folder = client_folder(20);
    let read = read_by_python(folder.path());
    let expected = directory();
    let key =
        |point: &motemix_crypto::p224::Point| format!("c7220292cd02c9bd{}", hex::encode(point.compress()));
    let mixes: Vec<_> = expected
        .mixes()
        .map(|mix| json!([mix.name, mix.port, mix.host, key(&mix.public_key), mix.layer]))
        .collect();
    let providers: Vec<_> = expected
        .providers()
        .iter()
        .map(|provider| json!([provider.name, provider.port, provider.host, key(&provider.public_key)]))
        .collect();
    let users: Vec<_> = expected
        .users()
        .iter()
        .map(|user| json!([user.name, user.port, user.host, key(&user.public_key), user.provider]))
        .collect();
    assert_eq!(
        read,
        json!({
            "mixes": mixes, "providers": providers, "users": users, "port": 20_011, "groups": [-1, 2, 7],
            "loops": 2.0, "drop": 2.0, "payload": 2.0, "delay": 0.001, "pull": 10.0, "noise": 500,
            "retrieve": 50, "push": null, "database": "example.db",
        })
    );
    assert!(keys::secret_file(folder.path(), motemix_loopix::files::Role::Client).is_file());
}
