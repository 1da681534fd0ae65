//! Reads the images of a prompt with the `read` tool, so its limits and the jail apply.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;
use zot_host::{Prompt, Runtime};
use zot_protocol::{Content, Object};

/// Maximum number of images in a prompt.
const MAX_IMAGES: usize = 10;

/// Returns the prompt with its images. A path that is not a file is left as text. Fails if an image
/// cannot be read.
pub(super) async fn read(
    runtime: &Runtime,
    text: String,
    images: &[PathBuf],
) -> Result<Prompt, String> {
    let mut prompt = Prompt::text(text);
    let cwd = runtime.toolbox().cwd();
    for path in images.iter().filter(|path| cwd.join(path).is_file()) {
        if prompt.images.len() == MAX_IMAGES {
            return Err(format!(
                "at most {MAX_IMAGES} images can be attached to a prompt"
            ));
        }
        prompt.images.push(image(runtime, path).await?);
    }
    Ok(prompt)
}

/// Returns the media type and the base64 data of an image.
async fn image(runtime: &Runtime, path: &Path) -> Result<(String, String), String> {
    let path = path.to_string_lossy();
    let mut args = Object::new();
    args.insert("path".to_owned(), path.as_ref().into());
    let cancel = CancellationToken::new();
    let reading = runtime.toolbox().run("read", args, |_| {}, &cancel);
    let mut why = format!("`{path}` is not a PNG, JPEG, GIF or WebP image");
    if let Some(outcome) = reading.await {
        for block in outcome.content {
            match block {
                Content::Image(image) => return Ok((image.mime_type, image.data)),
                Content::Text(text) if outcome.is_error => why = text.text,
                _ => {}
            }
        }
    }
    Err(format!("nothing was sent: {why}"))
}
