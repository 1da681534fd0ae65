//! The templates for `zot ext new`: the files in `cli/templates`, with names filled in.

use clap::ValueEnum;

/// The language of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Rust,
    Python,
    #[value(alias = "ts")]
    Typescript,
    #[value(alias = "sh")]
    Bash,
}

/// A path and its template.
type File = (&'static str, &'static str);

macro_rules! files {
    ($folder:literal: $($from:literal => $to:literal),+ $(,)?) => {
        &[$(($to, include_str!(concat!("../../templates/", $folder, "/", $from)))),+]
    };
}

/// The conformance transcript, which is the same for every language.
const TRANSCRIPT: &str = include_str!("../../templates/transcript.zt.ndjson");

const RUST: &[File] = files!("rust":
    "extension.json" => "extension.json",
    "Cargo.toml.in" => "Cargo.toml",
    "src/main.rs.in" => "src/main.rs",
    "README.md" => "README.md",
    "gitignore" => ".gitignore",
    "zotignore" => ".zotignore",
);

const PYTHON: &[File] = files!("python":
    "extension.json" => "extension.json",
    "main.py" => "main.py",
    "README.md" => "README.md",
    "gitignore" => ".gitignore",
    "zotignore" => ".zotignore",
);

const TYPESCRIPT: &[File] = files!("typescript":
    "extension.json" => "extension.json",
    "src/main.ts" => "src/main.ts",
    "src/wire.ts" => "src/wire.ts",
    "dist/main.js" => "dist/main.js",
    "dist/wire.js" => "dist/wire.js",
    "package.json" => "package.json",
    "tsconfig.json" => "tsconfig.json",
    "README.md" => "README.md",
    "gitignore" => ".gitignore",
    "zotignore" => ".zotignore",
);

const BASH: &[File] = files!("bash":
    "extension.json" => "extension.json",
    "main.sh" => "main.sh",
    "README.md" => "README.md",
    "gitignore" => ".gitignore",
    "zotignore" => ".zotignore",
);

impl Language {
    /// Returns the files of a new extension, with paths relative to its directory. `fillings` are
    /// the placeholders and their values.
    pub(super) fn files(self, command: &str, fillings: &[(&str, &str)]) -> Vec<(String, String)> {
        let files = match self {
            Self::Rust => RUST,
            Self::Python => PYTHON,
            Self::Typescript => TYPESCRIPT,
            Self::Bash => BASH,
        };
        let fill = |text: &str| {
            let fill_one = |text: String, (mark, value): &(&str, &str)| text.replace(mark, value);
            fillings.iter().fold(text.to_owned(), fill_one)
        };
        let transcript = format!("conform/{command}.zt.ndjson");
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), fill(text)))
            .chain([(transcript, fill(TRANSCRIPT))])
            .collect()
    }

    /// Returns the programs needed to build or run the extension, and where to get them.
    pub(super) fn needs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rust => &[("cargo", "https://rustup.rs")],
            Self::Python => &[("python3", "https://www.python.org")],
            Self::Typescript => &[("node", "https://nodejs.org")],
            Self::Bash => &[
                ("bash", "your system's package manager"),
                ("jq", "https://jqlang.org"),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_in_and_manifests_are_valid() {
        let fillings = [
            ("{{name}}", "a.b"),
            ("{{command}}", "a.b"),
            ("{{tool}}", "a_b_words"),
            ("{{package}}", "a-b"),
            ("{{sdk}}", "\"0.1\""),
        ];
        for language in Language::value_variants() {
            for (path, text) in language.files("a.b", &fillings) {
                assert!(!text.contains("{{"), "{language:?}: {path}");
                if path == "extension.json" {
                    zot_protocol::validate::manifest(text.as_bytes()).expect("a valid manifest");
                }
            }
        }
    }
}
