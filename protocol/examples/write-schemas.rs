//! Regenerates `schema/v1/`, the list of its files and the validator's tables from the types: `cargo run -p zot-protocol
//! --example write-schemas`.

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/v1");
    if folder.exists() {
        // Remove the schemas of types that no longer exist.
        fs::remove_dir_all(&folder)?;
    }
    let documents = zot_protocol::schema::documents();
    for document in &documents {
        let path = folder.join(format!("{}.json", document.name));
        fs::create_dir_all(path.parent().expect("the path has a parent"))?;
        fs::write(path, document.to_text())?;
    }
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema/published.rs");
    fs::write(published, zot_protocol::schema::published_source())?;
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/validate/rules/generated.rs");
    fs::write(rules, zot_protocol::schema::rules::source())?;
    println!(
        "wrote {} schemas and the validator's tables",
        documents.len()
    );
    Ok(())
}
