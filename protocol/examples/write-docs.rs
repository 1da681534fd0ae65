//! Regenerates the generated sections of `README.md` and `docs/` from the types and the included
//! files: `cargo run -p zot-protocol --example write-docs`.

use std::{error::Error, fs, path::Path};

use zot_protocol::schema::markdown;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs"))? {
        pages.push(entry?.path());
    }
    for path in pages {
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let page = fs::read_to_string(&path)?;
        let filled = markdown::fill(&page, |file| fs::read_to_string(root.join(file)).ok())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if filled != page {
            fs::write(&path, filled)?;
            println!("wrote {}", path.display());
        }
    }
    Ok(())
}
