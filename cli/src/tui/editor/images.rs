//! Images in a prompt: pasted paths, which become chips, and `@` tokens.

use std::path::{Path, PathBuf};

use super::{chips::is_chip, files::Token};

/// The file extensions of the formats that providers accept.
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
/// A paste that is longer than this is not treated as a list of files.
const MAX_PASTE: usize = 16 * 1024;

/// Returns the files if a paste consists only of paths of existing images. Terminals paste a path
/// when the user drops a file: quoted for a shell, unquoted, or as a `file://` URL.
pub(super) fn pasted(text: &str) -> Option<Vec<PathBuf>> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_PASTE {
        return None;
    }
    if let Some(image) = existing_image(text) {
        return Some(vec![image]);
    }
    let words = shell_words::split(text).ok()?;
    words.iter().map(|word| existing_image(word)).collect()
}

/// Returns the path if it is absolute and refers to an existing image.
fn existing_image(word: &str) -> Option<PathBuf> {
    let path = if word.starts_with("file://") {
        url::Url::parse(word).ok()?.to_file_path().ok()?
    } else {
        expanded(word)
    };
    // A path with a control character or a quote cannot be written as a token.
    let is_plain = path
        .to_str()?
        .chars()
        .all(|it| it != '"' && !it.is_control());
    let is_image = path.is_absolute() && is_image(&path) && path.is_file();
    (is_plain && is_image).then_some(path)
}

/// Returns a path with `~/` replaced with the home directory.
fn expanded(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// Reports whether the file name has the extension of an image.
fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| {
        EXTENSIONS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(it))
    })
}

/// Returns the paths of the images mentioned with `@` in the prompt. Chips are skipped, because their
/// contents are not visible.
pub(super) fn mentioned(text: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (at, _) in text.match_indices('@') {
        let quoted = text[at + 1..].starts_with('"');
        let cursor = at + if quoted { 2 } else { 1 };
        let Some(token) = Token::at(text, cursor).filter(|token| token.range.start == at) else {
            continue;
        };
        let name = if quoted {
            // `Token::at` ends an unclosed quote at the cursor, so find the end of the name here.
            let rest = &text[cursor..];
            &rest[..rest.find(['"', '\n']).unwrap_or(0)]
        } else {
            // Punctuation at the end of a sentence is not part of the name.
            text[cursor..token.range.end].trim_end_matches(|it| ".,;:!?)]}'\"`".contains(it))
        };
        let path = expanded(name);
        if is_image(&path) && !name.contains(is_chip) && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_by_their_token() {
        for (text, paths) in [
            ("what is @a.png?", vec!["a.png"]),
            (
                "@a.png @b/c.JPEG, and (@d.webp)",
                vec!["a.png", "b/c.JPEG", "d.webp"],
            ),
            (
                "@\"my shot.png\" and @a.png @a.png",
                vec!["my shot.png", "a.png"],
            ),
            ("me@a.png @a.rs @ @\"open.png a.png", vec![]),
            ("@\u{f0000}.png", vec![]),
        ] {
            let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
            assert_eq!(mentioned(text), paths, "{text}");
        }
        let home = std::env::var("HOME").unwrap();
        let paths = vec![Path::new(&home).join("a.png"), Path::new("b~/c.png").into()];
        assert_eq!(mentioned("@~/a.png @b~/c.png"), paths);
    }

    #[test]
    fn dropped_files_are_recognised_however_the_terminal_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let one = folder.path().join("one.png");
        let two = folder.path().join("two shots.gif");
        for path in [&one, &two] {
            std::fs::write(path, "").unwrap();
        }
        let (one_text, two_text) = (one.to_str().unwrap(), two.to_str().unwrap());
        for (paste, paths) in [
            (one_text.to_owned(), Some(vec![&one])),
            (format!("{two_text} "), Some(vec![&two])),
            (format!("'{two_text}'"), Some(vec![&two])),
            (two_text.replace(' ', "\\ "), Some(vec![&two])),
            (
                format!("file://{}", two_text.replace(' ', "%20")),
                Some(vec![&two]),
            ),
            (format!("{one_text} '{two_text}'\n"), Some(vec![&one, &two])),
            (format!("look at {one_text}"), None),
            (format!("{one_text}.png"), None),
            ("one.png".to_owned(), None),
            (String::new(), None),
        ] {
            let paths = paths.map(|paths| paths.into_iter().cloned().collect::<Vec<_>>());
            assert_eq!(pasted(&paste), paths, "{paste}");
        }
    }
}
