//! Validates the images of a prompt.

use base64::{Engine, engine::general_purpose::STANDARD};
use zot_protocol::rpc::Image;

/// The image types that models support.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the type and base64 data of each image, or an error about the first invalid one.
pub(super) fn read(images: Vec<Image>) -> Result<Vec<(String, String)>, String> {
    let numbered = images.into_iter().enumerate();
    let read = numbered.map(|(at, image)| {
        let wrong = |field: &str, why: String| Err(format!("/images/{at}/{field}: {why}"));
        let mime_type = image.mime_type.to_ascii_lowercase();
        if !TYPES.contains(&&*mime_type) {
            let known = TYPES.join(", ");
            return wrong(
                "mime_type",
                format!("unsupported image type; expected one of: {known}"),
            );
        }
        match STANDARD.decode(&image.data) {
            Ok(bytes) if bytes.is_empty() => wrong("data", "must not be empty".to_owned()),
            Ok(_) => Ok((mime_type, image.data)),
            Err(error) => {
                let why = error.to_string().to_ascii_lowercase();
                wrong("data", format!("invalid base64: {why}"))
            }
        }
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_types_and_invalid_data_are_refused() {
        for (mime_type, data, wrong) in [
            ("image/png", "iVBORw0KGgo=", None),
            ("IMAGE/PNG", "iVBORw0KGgo=", None),
            ("text/plain", "iVBORw0KGgo=", Some("/images/0/mime_type: ")),
            (
                "image/svg+xml",
                "iVBORw0KGgo=",
                Some("/images/0/mime_type: "),
            ),
            ("image/png", "", Some("/images/0/data: must not be empty")),
            (
                "image/png",
                "iVBORw0KGgo",
                Some("/images/0/data: invalid base64"),
            ),
            (
                "image/png",
                "iVBO Rw0KGgo=",
                Some("/images/0/data: invalid base64"),
            ),
        ] {
            let read = read(vec![Image::new(mime_type, data)]);
            match (read, wrong) {
                (Ok(images), None) => assert_eq!(images[0].0, "image/png"),
                (Err(why), Some(wrong)) => assert!(why.starts_with(wrong), "{why}"),
                (read, _) => panic!("{mime_type} {data}: {read:?}"),
            }
        }
    }
}
