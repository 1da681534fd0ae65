//! Every public item appears in an example.

use std::{fs, path::Path};

/// Collects the Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("read the directory") {
        let path = entry.expect("read the directory").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(fs::read_to_string(path).expect("read the file"));
        }
    }
}

fn names(source: &str) -> impl Iterator<Item = String> {
    source
        .lines()
        .filter_map(|line| {
            let line = line.trim_start();
            // The interceptors are declared by a macro.
            line.strip_prefix("pub fn ")
                .or_else(|| line.starts_with("intercept_").then_some(line))
                .or_else(|| line.strip_prefix("pub const "))
        })
        .map(|rest| {
            let is_part = |it: char| it.is_alphanumeric() || it == '_';
            rest.chars().take_while(|it| is_part(*it)).collect()
        })
        .filter(|name: &String| !name.is_empty())
}

/// Every public function is called in a documentation example or in one of the example extensions.
#[test]
fn every_public_function_appears_in_an_example() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut own = Vec::new();
    sources(&here.join("src"), &mut own);
    let mut used = Vec::new();
    sources(&here.join("../examples"), &mut used);
    for source in &own {
        let documents = source.lines().map(str::trim_start);
        used.extend(
            documents
                .filter(|it| it.starts_with("//"))
                .map(str::to_owned),
        );
    }
    let used = used.join("\n");
    let public: Vec<String> = own.iter().flat_map(|source| names(source)).collect();
    assert!(public.len() > 60, "found only {public:?}");
    let calls = |name: &str| {
        let forms = [
            format!(".{name}("),
            format!(".{name}::<"),
            format!("::{name}"),
            format!(" {name}("),
        ];
        forms.iter().any(|form| used.contains(form))
    };
    let unused: Vec<_> = public.iter().filter(|name| !calls(name)).collect();
    assert!(unused.is_empty(), "without an example: {unused:?}");
}
