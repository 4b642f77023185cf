//! Are the committed JSON Schemas those of the Rust types?

use rigel_ledger::schema;
use std::path::Path;

#[test]
fn committed_schemas_are_current() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    let write = std::env::var_os("RIGEL_WRITE_SCHEMA").is_some();
    let mut names = Vec::new();
    for (name, schema) in schema::all() {
        let (path, text) = (dir.join(name), schema::text(&schema));
        if write {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "schema/{name} is not that of its Rust type; if the change is meant, write it again: \
             RIGEL_WRITE_SCHEMA=1 cargo test -p rigel-ledger --test store_schema"
        );
        names.push(name.to_owned());
    }
    let mut there: Vec<String> =
        std::fs::read_dir(&dir).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    assert_eq!(there, names, "schema/ holds one file a type and nothing else");
}
