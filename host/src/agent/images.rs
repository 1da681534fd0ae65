//! Makes images small enough for every provider, before they enter the transcript.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use zot_protocol::Content;

use crate::message::Block;

/// The maximum width and height in pixels. Anthropic rejects images with more than 8000 pixels on a
/// side, or 2000 if a request contains more than 20 images, and every provider scales larger images
/// down.
const MAX_SIDE: u32 = 2000;
/// The maximum size of the base64 data in bytes. Anthropic's limit is 5 MB.
const MAX_BASE64: usize = 5_000_000;
/// The maximum number of pixels of an image to shrink. A small file can contain a huge image, and
/// each pixel takes four bytes of memory.
const MAX_PIXELS: u64 = 40_000_000;
/// The same limit for an image that an extension may have made. It is lower, because an extension
/// must not be able to use much of zot's memory.
const MAX_FOREIGN_PIXELS: u64 = 8_000_000;
/// The maximum number of images in a tool's result. No provider accepts more in one request.
const MAX_IMAGES: usize = 100;
/// The JPEG quality of re-encoded images, from 1 to 100.
const QUALITY: u8 = 85;

/// Limits the memory that decoding uses by decoding one image at a time.
static DECODING: Semaphore = Semaphore::const_new(1);

/// An image as a media type and base64 data.
type Image = (String, String);

/// Returns the image, shrunk if necessary. If it is too large and cannot be shrunk, the error is a
/// text to use in its place.
async fn fit(image: Image, max_pixels: u64) -> Result<Image, String> {
    let permit = DECODING.acquire().await;
    let _permit = permit.expect("the semaphore is never closed");
    let fitted = tokio::task::spawn_blocking(move || match shrink(&image.1, max_pixels) {
        Ok(None) => Ok(image),
        Ok(Some(smaller)) => Ok(smaller),
        Err(why) => Err(format!("(an image was left out: {why})")),
    });
    let failed = |_| Err("(an image was left out: it cannot be decoded)".to_owned());
    fitted.await.unwrap_or_else(failed)
}

/// Shrinks the images in the user's message if necessary.
pub(super) async fn fit_prompt(images: Vec<Image>) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(images.len());
    for image in images {
        blocks.push(match fit(image, MAX_PIXELS).await {
            Ok((mime_type, data)) => Block::Image { mime_type, data },
            Err(text) => Block::Remark { text },
        });
    }
    blocks
}

/// Shrinks the images in a tool's result if necessary. If the call is cancelled, omits the images
/// that have not been processed. `is_foreign` means that an extension may have made them.
pub(super) async fn fit_result(
    content: &mut [Content],
    is_foreign: bool,
    cancel: &CancellationToken,
) {
    let max_pixels = if is_foreign {
        MAX_FOREIGN_PIXELS
    } else {
        MAX_PIXELS
    };
    let mut count = 0;
    for block in content {
        let Content::Image(image) = block else {
            continue;
        };
        count += 1;
        let image = (image.mime_type.clone(), std::mem::take(&mut image.data));
        let fitting = async {
            if count > MAX_IMAGES {
                return Err(format!(
                    "(an image was left out: there are more than {MAX_IMAGES} images)"
                ));
            }
            fit(image, max_pixels).await
        };
        let fitted = tokio::select! {
            biased;
            () = cancel.cancelled() => Err("(an image was left out: cancelled)".to_owned()),
            fitted = fitting => fitted,
        };
        *block = match fitted {
            Ok((mime_type, data)) => Content::image(mime_type, data),
            Err(text) => Content::text(text),
        };
    }
}

/// Returns a smaller version of an image. Returns `None` if it is small enough, or if its data is
/// invalid, in which case the provider decides whether to accept it.
fn shrink(data: &str, max_pixels: u64) -> Result<Option<Image>, String> {
    let Ok(bytes) = STANDARD.decode(data) else {
        return Ok(None);
    };
    let reader = || {
        let mut reader = ImageReader::new(Cursor::new(&bytes))
            .with_guessed_format()
            .ok()?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(max_pixels * 8);
        reader.limits(limits);
        Some(reader)
    };
    let size = reader().and_then(|reader| reader.into_dimensions().ok());
    let Some((width, height)) = size else {
        return Ok(None);
    };
    if width.max(height) <= MAX_SIDE && data.len() <= MAX_BASE64 {
        return Ok(None);
    }
    let too_large = || format!("it is {width}×{height} pixels and could not be shrunk");
    if u64::from(width) * u64::from(height) > max_pixels {
        return Err(too_large());
    }
    let Some(Ok(mut image)) = reader().map(ImageReader::decode) else {
        return Err(too_large());
    };
    let mut longest = MAX_SIDE;
    loop {
        if image.width().max(image.height()) > longest {
            // `resize` is smoother, but needs four times the memory.
            image = image.thumbnail(longest, longest);
        }
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            let encoded = encode(&image, format).map_err(|error| error.to_string())?;
            if encoded.len().div_ceil(3) * 4 <= MAX_BASE64 {
                let mime_type = format.to_mime_type().to_owned();
                return Ok(Some((mime_type, STANDARD.encode(encoded))));
            }
        }
        longest = longest / 4 * 3;
    }
}

fn encode(image: &DynamicImage, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    if format == ImageFormat::Jpeg {
        // JPEG has no transparency.
        let opaque = image.to_rgb8();
        opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))?;
    } else {
        image.write_to(&mut Cursor::new(&mut bytes), format)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> String {
        let image = DynamicImage::new_luma8(width, height);
        STANDARD.encode(encode(&image, ImageFormat::Png).unwrap())
    }

    fn size(data: &str) -> (u32, u32) {
        let bytes = STANDARD.decode(data).unwrap();
        let image = image::load_from_memory(&bytes).unwrap();
        (image.width(), image.height())
    }

    #[test]
    fn a_large_image_is_made_smaller_and_keeps_its_shape() {
        assert_eq!(shrink(&png(2000, 1), MAX_PIXELS).unwrap(), None);
        let (mime_type, data) = shrink(&png(9000, 90), MAX_PIXELS).unwrap().unwrap();
        assert_eq!((&*mime_type, size(&data)), ("image/png", (2000, 20)));
        assert_eq!(
            shrink("bm90IGFuIGltYWdl", MAX_PIXELS).unwrap(),
            None,
            "not an image"
        );
    }

    #[test]
    fn an_image_with_many_bytes_becomes_a_jpeg() {
        let mut seed = 1_u32;
        let noise = image::RgbImage::from_fn(1150, 1150, |_, _| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [_, red, green, blue] = seed.to_le_bytes();
            image::Rgb([red, green, blue])
        });
        let noise = encode(&noise.into(), ImageFormat::Png).unwrap();
        let (mime_type, data) = shrink(&STANDARD.encode(noise), MAX_PIXELS)
            .unwrap()
            .unwrap();
        assert_eq!(mime_type, "image/jpeg");
        assert!(data.len() <= MAX_BASE64);
    }

    /// A few bytes that claim to be a terabyte-sized image.
    #[tokio::test]
    async fn a_decompression_bomb_is_left_out() {
        let mut bytes = STANDARD.decode(png(1, 1)).unwrap();
        bytes[16..24].copy_from_slice(&[0, 15, 0, 0, 0, 15, 0, 0]);
        // The checksum of the header, without which the decoder would reject the size.
        let sum = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        let bomb = ("image/png".to_owned(), STANDARD.encode(bytes));
        let text = fit(bomb, MAX_PIXELS).await.expect_err("left out");
        assert_eq!(
            text,
            "(an image was left out: it is 983040×983040 pixels and could not be shrunk)"
        );
    }

    #[tokio::test]
    async fn images_of_extensions_are_small_many_are_left_out_and_an_abort_ends_the_work() {
        let image = |width, height| Content::image("image/png", png(width, height));
        let text = |content: &Content| match content {
            Content::Text(text) => text.text.clone(),
            _ => String::new(),
        };
        let cancel = CancellationToken::new();
        let mut content = [image(3000, 3000), image(3000, 2000)];
        fit_result(&mut content, true, &cancel).await;
        assert!(
            text(&content[0]).contains("3000×3000 pixels"),
            "{content:?}"
        );
        assert!(matches!(content[1], Content::Image(_)));
        let mut content = [image(3000, 3000)];
        fit_result(&mut content, false, &cancel).await;
        assert!(matches!(content[0], Content::Image(_)));
        let mut content = vec![image(1, 1); MAX_IMAGES + 1];
        fit_result(&mut content, true, &cancel).await;
        assert!(text(&content[MAX_IMAGES]).contains("more than 100"));
        assert!(matches!(content[MAX_IMAGES - 1], Content::Image(_)));
        cancel.cancel();
        let mut content = [image(3000, 2000)];
        fit_result(&mut content, true, &cancel).await;
        assert!(text(&content[0]).contains("cancelled"));
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |sum: u32, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
            })
        })
    }
}
