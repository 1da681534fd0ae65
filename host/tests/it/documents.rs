//! Examples in the documentation.

use std::path::Path;

use zot_host::extension::{PermissionReport, discover::read_manifest};
use zot_process::Support;

/// Returns the JSON code blocks of a Markdown document.
fn json_of(document: &str) -> Vec<String> {
    let mut blocks = document.split("```json\n");
    blocks.next();
    let block = |rest: &str| rest.split("```").next().unwrap_or_default().to_owned();
    blocks.map(block).collect()
}

#[test]
fn the_manifest_in_security_md_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("extension.json");
    let shown = json_of(&page);
    assert_eq!(shown.len(), 1);
    std::fs::write(&file, &shown[0]).unwrap();
    let (manifest, unknown) = read_manifest(&file).unwrap();
    assert_eq!(unknown, Vec::<String>::new());
    let report = PermissionReport::of(&manifest, Support::none());
    let line = report.to_string();
    let declared = "reads $cwd, writes $cwd/reports, gets GUARD_RULES, TCP to 443 (";
    assert!(line.starts_with(declared), "{line}");
}
