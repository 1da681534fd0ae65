//! PNG images for tests.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, RgbImage};

fn encode(image: &DynamicImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    image
        .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
        .expect("PNG can encode every image");
    bytes
}

/// A black image.
pub(crate) fn bytes(width: u32, height: u32) -> Vec<u8> {
    encode(&DynamicImage::new_luma8(width, height))
}

pub(crate) fn base64(width: u32, height: u32) -> String {
    STANDARD.encode(bytes(width, height))
}

/// A square of noise, which cannot be compressed.
pub(crate) fn noise(side: u32) -> Vec<u8> {
    let mut seed = 1_u32;
    let image = RgbImage::from_fn(side, side, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, red, green, blue] = seed.to_le_bytes();
        image::Rgb([red, green, blue])
    });
    encode(&image.into())
}
