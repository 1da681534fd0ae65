//! Validates the images of a prompt.

use zot_protocol::{rpc::Image, validate};

/// Returns the type and base64 data of each image, or an error about the first invalid one.
pub(super) fn read(images: Vec<Image>) -> Result<Vec<(String, String)>, String> {
    let numbered = images.into_iter().enumerate();
    let read = numbered.map(
        |(
            at,
            Image {
                mime_type, data, ..
            },
        )| {
            let mime_type = mime_type.to_ascii_lowercase();
            match validate::image(&mime_type, &data) {
                Ok(()) => Ok((mime_type, data)),
                Err(error) => Err(format!("/images/{at}/{}: {error}", error.field())),
            }
        },
    );
    read.collect()
}
