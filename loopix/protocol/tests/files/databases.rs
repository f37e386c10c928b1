//! The directory in SQLite.

use crate::network::{directory, mix, provider, says, user};
use crate::vectors::{VARIANTS, bytes_of, rows, variant};
use motemix_loopix::files::{Directory, Listed};
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file to write a directory to, and the folder that has to outlive it.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example.db");
    (folder, path)
}

/// A directory that was written, then changed with SQL.
fn changed(sql: &str) -> (TempDir, PathBuf) {
    let (folder, path) = place();
    directory().save(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

/// The vectors' rows, as the originals insert them.
fn original(variant: &Value, path: &Path) {
    let connection = Connection::open(path).unwrap();
    for (table, columns) in [
        ("Mixnodes", "name blob, port integer, host text, pubk blob, groupId integer"),
        ("Providers", "name blob, port integer, host text, pubk blob"),
        ("Users", "name blob, port integer, host text, pubk blob, provider blob"),
    ] {
        let create = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, {columns})");
        connection.execute(&create, []).unwrap();
        for row in rows(variant, table) {
            let marks = vec!["?"; row.len()].join(", ");
            let values = row.iter().map(sql);
            let insert = format!("INSERT INTO {table} VALUES (NULL, {marks})");
            connection.execute(&insert, rusqlite::params_from_iter(values)).unwrap();
        }
    }
}

fn sql(value: &Value) -> Sql {
    match value {
        Value::String(text) => Sql::Text(text.clone()),
        Value::Number(number) => Sql::Integer(number.as_i64().unwrap()),
        blob => Sql::Blob(bytes_of(&blob["blob"])),
    }
}

/// All rows of a table without their ids, each value beside its storage class.
fn stored(path: &Path, table: &str) -> Vec<Vec<(Sql, String)>> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns: Vec<_> = query.column_names().into_iter().skip(1).map(str::to_owned).collect();
    let asked: Vec<_> = columns.iter().map(|column| format!("{column}, typeof({column})")).collect();
    query = connection.prepare(&format!("SELECT {} FROM {table}", asked.join(", "))).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns.len()).map(|place| Ok((row.get(2 * place)?, row.get(2 * place + 1)?))).collect()
    };
    query.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_originals_directory_is_read_and_written_value_for_value() {
    for variant in VARIANTS.map(variant) {
        let (_folder, path) = place();
        original(&variant, &path);
        let directory = Directory::load(&path).unwrap();
        assert_eq!(directory.layers().iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(directory.user("Client2").unwrap().provider, "Provider2");

        let ours = path.with_file_name("ours.db");
        directory.save(&ours).unwrap();
        for table in ["Mixnodes", "Providers", "Users"] {
            assert_eq!(stored(&ours, table), stored(&path, table), "{table}");
        }
        assert_eq!(Directory::load(&ours).unwrap(), directory);
    }
}

#[test]
fn names_and_hosts_are_text_and_keys_are_blobs_whatever_the_columns_say() {
    let (_folder, path) = place();
    directory().save(&path).unwrap();
    for (table, classes) in [
        ("Mixnodes", &["text", "integer", "text", "blob", "integer"][..]),
        ("Providers", &["text", "integer", "text", "blob"]),
        ("Users", &["text", "integer", "text", "blob", "text"]),
    ] {
        for row in stored(&path, table) {
            assert_eq!(row.iter().map(|(_, class)| class.as_str()).collect::<Vec<_>>(), classes, "{table}");
        }
    }
    let connection = Connection::open(&path).unwrap();
    let declared: String = connection
        .query_row("SELECT group_concat(sql, ' ') FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    for part in ["name blob, port integer, host text, pubk blob, groupId integer)", "provider blob)"] {
        assert!(declared.contains(part), "{declared}");
    }
}

#[test]
fn layers_are_the_distinct_numbers_in_ascending_order() {
    let directory = directory();
    let names: Vec<Vec<_>> =
        directory.layers().iter().map(|layer| layer.iter().map(|mix| mix.name.as_str()).collect()).collect();
    assert_eq!(names, [vec!["Mix2"], vec!["Mix4"], vec!["Mix1", "Mix3"]]);
    assert_eq!(
        [-1, 2, 7, 3].map(|number| directory.layer_numbered(number)),
        [Some(0), Some(1), Some(2), None]
    );
    assert_eq!(directory.mixes().count(), 4);
}

#[test]
fn everybody_is_found_by_name_and_by_address() {
    let directory = directory();
    let [mix3, provider10, user21] = [20_003, 20_010, 20_021].map(|port| {
        let host = if port == 20_021 { "host.example" } else { "127.0.0.1" };
        directory.at(host, port).unwrap()
    });
    assert_eq!(mix3, Listed::Mix { layer: 2, entry: directory.mix("Mix3").unwrap() });
    assert_eq!(provider10, Listed::Provider(directory.provider("Provider10").unwrap()));
    assert_eq!(user21, Listed::User(directory.user("Clië21").unwrap()));
    assert_eq!(directory.at("127.0.0.1", 20_021), None);
    assert_eq!(directory.at("localhost", 20_003), None);
    assert!(directory.mix("Provider10").is_none() && directory.provider("Mix3").is_none());
    assert!(directory.user("mix3").is_none());
}

/// The originals take the first of several rows, so this does, too.
#[test]
fn a_name_that_is_there_twice_is_the_first_of_them() {
    let (_folder, path) = changed("UPDATE Providers SET name = 'P'; UPDATE Users SET name = 'U', port = 5");
    let directory = Directory::load(&path).unwrap();
    assert_eq!(directory.provider("P").unwrap().port, 20_010);
    assert_eq!(directory.user("U").unwrap().provider, "Provider11");
    assert_eq!(directory.at("host.example", 5), Some(Listed::User(&directory.users()[0])));
}

#[test]
fn columns_are_read_by_position_and_further_ones_ignored() {
    let (_folder, path) = changed(
        "ALTER TABLE Providers RENAME COLUMN name TO nombre;
         ALTER TABLE Providers ADD COLUMN notes text;
         ALTER TABLE Users RENAME TO u; ALTER TABLE u RENAME TO users",
    );
    assert_eq!(Directory::load(&path).unwrap(), directory());
}

#[test]
fn a_row_that_cannot_be_used_is_named_with_its_field() {
    for (sql, words) in [
        ("UPDATE Mixnodes SET name = x'4d697831'", &["Mixnodes row 1, name", "BLOB", "not TEXT"][..]),
        ("UPDATE Mixnodes SET name = NULL WHERE port = 20002", &["Mixnodes row 1, name", "NULL"]),
        ("UPDATE Mixnodes SET name = ''", &["name", "is empty"]),
        ("UPDATE Mixnodes SET groupId = 'first'", &["Mixnodes row 1, groupId", "TEXT", "not INTEGER"]),
        ("UPDATE Providers SET port = 70000 WHERE id = 2", &["Providers row 2, port", "70000", "65535"]),
        ("UPDATE Providers SET port = 0", &["Providers row 1, port", "is 0"]),
        ("UPDATE Providers SET port = -5", &["port", "is -5"]),
        ("UPDATE Providers SET port = 20.5", &["port", "REAL"]),
        ("UPDATE Providers SET host = ''", &["host", "is empty"]),
        ("UPDATE Providers SET name = name || char(27)", &["Providers row 1, name", "control characters"]),
        ("UPDATE Providers SET host = CAST(x'ff' AS TEXT)", &["host", "UTF-8"]),
        ("UPDATE Users SET host = printf('%.*c', 97, 'x')", &["Users row 1, host", "104 bytes together"]),
        ("UPDATE Users SET provider = x'50'", &["Users row 1, provider", "BLOB"]),
        ("UPDATE Users SET pubk = 'c722'", &["Users row 1, pubk", "TEXT", "not BLOB"]),
        ("UPDATE Users SET pubk = substr(pubk, 9)", &["pubk", "no point of P-224"]),
        ("UPDATE Users SET pubk = CAST(pubk || x'00' AS BLOB)", &["pubk", "no point of P-224"]),
        ("UPDATE Users SET host = printf('%.*c', 5000, 'x')", &["more than 4096 bytes"]),
        ("ALTER TABLE Users DROP COLUMN provider", &["Users", "5 columns and not 6"]),
        ("DROP TABLE Users", &["no table Users", "no directory of a Loopix network"]),
        ("ALTER TABLE Users RENAME TO U; CREATE VIEW Users AS SELECT * FROM U", &["no table Users"]),
    ] {
        let (_folder, path) = changed(sql);
        says(&Directory::load(&path).unwrap_err(), &path, words);
    }
}

#[test]
fn files_that_are_no_directory_say_what_they_are() {
    let (folder, path) = place();
    says(&Directory::load(&path).unwrap_err(), &path, &["cannot read it", "make the file first"]);
    assert!(!path.exists(), "looking at a file made it");
    says(&Directory::load(folder.path()).unwrap_err(), folder.path(), &["is no file"]);

    fs::write(&path, b"").unwrap();
    says(&Directory::load(&path).unwrap_err(), &path, &["no table Mixnodes"]);
    fs::write(&path, "not SQLite, ".repeat(1000)).unwrap();
    says(&Directory::load(&path).unwrap_err(), &path, &["no SQLite file"]);
}

/// Wherever the file ends, there is a directory or one line.
#[test]
fn a_file_that_is_cut_short_is_refused() {
    let (_folder, path) = place();
    directory().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for len in (1..whole.len()).step_by(509) {
        fs::write(&path, &whole[..len]).unwrap();
        says(&Directory::load(&path).unwrap_err(), &path, &[]);
    }
}

/// Damage may lie where nothing is, or change a name into another.
#[test]
fn a_damaged_file_is_a_directory_or_refused_in_one_line() {
    let (_folder, path) = place();
    directory().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x80;
        fs::write(&path, &damaged).unwrap();
        if let Err(error) = Directory::load(&path) {
            says(&error, &path, &[]);
            refused += 1;
        }
    }
    assert!(refused > 5, "only {refused} were refused");
}

#[test]
fn a_directory_that_contradicts_itself_is_not_written() {
    let provider = || vec![provider(10)];
    for (directory, words) in [
        (Directory::new(vec![mix(1, 0), mix(1, 0)], provider(), vec![]), &["Mix1", "two nodes"][..]),
        (
            Directory::new(
                vec![mix(1, 0)],
                vec![motemix_loopix::files::ProviderEntry { port: 20_001, ..crate::network::provider(10) }],
                vec![],
            ),
            &["Provider10, port", "127.0.0.1:20001", "two nodes"],
        ),
        (Directory::new(vec![], provider(), vec![user(20, "Provider9")]), &["Clië20, provider", "Provider9"]),
        (
            Directory::new(vec![motemix_loopix::files::MixEntry { port: 0, ..mix(1, 0) }], vec![], vec![]),
            &["Mix1, port", "is 0"],
        ),
    ] {
        let (_folder, path) = place();
        says(&directory.save(&path).unwrap_err(), &path, words);
        assert!(!path.exists());
    }
}

#[test]
fn a_directory_is_replaced_as_a_whole() {
    let (folder, path) = place();
    directory().save(&path).unwrap();
    let smaller = Directory::new(vec![mix(1, 0)], vec![provider(10)], vec![]);
    smaller.save(&path).unwrap();
    assert_eq!(Directory::load(&path).unwrap(), smaller);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
}
