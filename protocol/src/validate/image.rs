//! Checks that an image matches its media type. If one image is broken, the provider rejects the
//! whole request, and every later request of the session, because those contain the image too.

use base64::{Engine, engine::general_purpose::STANDARD};
use imagesize::ImageType;

use super::Refusal;
use crate::{Content, FromExtension, Id};

/// The media types that providers accept.
pub const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Why an image is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The media type is not one of [`IMAGE_TYPES`].
    #[error("unsupported image type; expected one of: {}", IMAGE_TYPES.join(", "))]
    UnsupportedType,
    /// There is no data.
    #[error("must not be empty")]
    Empty,
    /// The data is not base64.
    #[error("invalid base64: {0}")]
    Base64(String),
    /// The data is not a complete header of a PNG, JPEG, GIF or WebP image.
    #[error("not an image")]
    NotAnImage,
    /// The data is an image of another type.
    #[error("the data is {0}")]
    OtherType(&'static str),
}

impl ImageError {
    /// Returns the field that is invalid: `mime_type` or `data`.
    pub fn field(&self) -> &'static str {
        match self {
            Self::UnsupportedType | Self::OtherType(_) => "mime_type",
            Self::Empty | Self::Base64(_) | Self::NotAnImage => "data",
        }
    }
}

/// Checks an image's media type, which must be in lower case, and its base64 data.
pub fn image(mime_type: &str, data: &str) -> Result<(), ImageError> {
    if !IMAGE_TYPES.contains(&mime_type) {
        return Err(ImageError::UnsupportedType);
    }
    if data.is_empty() {
        return Err(ImageError::Empty);
    }
    let bytes = STANDARD
        .decode(data)
        .map_err(|error| ImageError::Base64(error.to_string().to_ascii_lowercase()))?;
    let actual = match imagesize::image_type(&bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Gif) => "image/gif",
        Ok(ImageType::Webp) => "image/webp",
        _ => return Err(ImageError::NotAnImage),
    };
    if actual != mime_type {
        return Err(ImageError::OtherType(actual));
    }
    // The signature alone does not make an image: the header must also contain a size.
    match imagesize::blob_size(&bytes) {
        Ok(size) if size.width > 0 && size.height > 0 => Ok(()),
        _ => Err(ImageError::NotAnImage),
    }
}

/// Checks the images in a frame, which a schema cannot do.
pub fn images(frame: &FromExtension) -> Result<(), Refusal> {
    let (id, list, field): (&Id, &[Content], _) = match frame {
        FromExtension::ToolResult(result) => (&result.id, &result.content, "content"),
        FromExtension::EventInterceptResponse(response) if !response.block => {
            let content = response.replace_content.as_deref().unwrap_or_default();
            (&response.id, content, "replace_content")
        }
        _ => return Ok(()),
    };
    for (index, block) in list.iter().enumerate() {
        if let Content::Image(block) = block
            && let Err(error) = image(&block.mime_type, &block.data)
        {
            let pointer = format!("/{field}/{index}/{}", error.field());
            let mut refusal = Refusal::invalid(pointer, error.to_string());
            refusal.frame_type = Some(crate::Tagged::name(frame).to_owned());
            refusal.id = Some(id.clone());
            return Err(refusal);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
    const GIF: &str = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=";

    #[test]
    fn images_must_match_their_media_types() {
        for (mime_type, data, expected) in [
            ("image/png", PNG, None),
            ("IMAGE/PNG", PNG, Some("unsupported image type")),
            ("image/gif", GIF, None),
            ("image/svg+xml", PNG, Some("unsupported image type")),
            ("image/jpeg", PNG, Some("the data is image/png")),
            ("image/png", "", Some("must not be empty")),
            ("image/png", &PNG[..PNG.len() - 1], Some("invalid base64")),
            ("image/png", "iVBO Rw0KGgo=", Some("invalid base64")),
            ("image/png", "aGVsbG8gd29ybGQ=", Some("not an image")),
            ("image/png", "iVBORw0KGgo=", Some("not an image")),
        ] {
            let found = image(mime_type, data).err().map(|error| error.to_string());
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) if found.starts_with(expected) => {}
                _ => panic!("{mime_type} {data}: {found:?}"),
            }
        }
    }
}
