//! The schemas in `docs/json-schema`: each is made of the types that its answer is made of. `cargo xtask schemas`
//! writes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Where this variable is set, the files are written; else they are compared.
const WRITE: &str = "HOLDUP_WRITE_SCHEMAS";

/// Each answer by the name of its command, and its schema.
fn answers() -> Vec<(&'static str, Schema)> {
    vec![
        ("policies", of::<crate::policies::schema::Policies<'_>>()),
        ("report", of::<crate::schema::Report>()),
        ("sim", of::<crate::sim::schema::Sim<'_>>()),
        ("stack", of::<crate::stack::schema::Profile<'_>>()),
        ("top", of::<crate::top::Line<'_>>()),
        ("whatif", of::<crate::what_if::WhatIfs<'_>>()),
        ("characterize", of::<crate::characterize::schema::Characterize>()),
        ("check", of::<crate::check::json::Check>()),
        ("diff", of::<crate::diff::schema::Diff>()),
        ("ranks", of::<crate::scaling::ranks::RanksTold>()),
        ("scale", of::<crate::scaling::schema::Scale>()),
        ("why", of::<crate::why::schema::Why>()),
    ]
}

/// What answers of this type look like as they are written.
fn of<T: JsonSchema>() -> Schema {
    let settings =
        SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(on_one_line));
    settings.into_generator().into_root_schema_for::<T>()
}

/// Comments are broken into lines where they are too long for the source.
fn on_one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json-schema")
}

#[test]
fn schemas_are_made_of_the_types() {
    let write = std::env::var_os(WRITE).is_some();
    let mut names = BTreeSet::new();
    let mut stale = Vec::new();
    for (name, schema) in answers() {
        let file = format!("{name}.schema.json");
        let path = folder().join(&file);
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if write {
            std::fs::write(&path, text).expect("a folder that can be written to");
        } else if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale.push(file.clone());
        }
        names.insert(file);
    }
    assert!(stale.is_empty(), "{stale:?} are not what the types say: `cargo xtask schemas` writes them");
    let files = std::fs::read_dir(folder()).expect("a folder");
    let files: BTreeSet<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(files, names, "files that no type makes, or types without a file");
}
