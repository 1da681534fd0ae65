//! `zot ext call NAME|DIR TOOL JSON`.

use std::io::{self, Read};

use anyhow::{Context as _, bail};
use serde_json::Value;
use zot_protocol::{Object, limits};

use super::Context;
use crate::{
    args::Call,
    author::{
        one_request::{self, OneRequest},
        target,
    },
};

pub(super) fn run(context: &Context, args: &Call) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let arguments = if args.args == "-" {
        object(&read_stdin()?)?
    } else {
        object(&args.args)?
    };
    let launch = target::find(&args.extension, cwd, home)?;
    let ask = OneRequest::Tool(args.tool.clone(), arguments);
    one_request::ask(launch, &ask, cwd, args.json)
}

/// Reads standard input, up to the maximum size of a frame.
fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(limits::FRAME_BYTES as u64 + 1)
        .read_to_string(&mut text)
        .context("cannot read the arguments from standard input")?;
    Ok(text)
}

fn object(text: &str) -> anyhow::Result<Object> {
    let hint = r#"hint: pass a JSON object in single quotes, such as '{"city": "Berlin"}'"#;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => bail!("arguments must be a JSON object\n{hint}"),
        Err(error) => bail!("arguments are not valid JSON: {error}\n{hint}"),
    }
}
