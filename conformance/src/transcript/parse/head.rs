//! The header line.

use serde_json::Value;

use super::Fields;
use crate::transcript::{Head, Needs, equal::shown};

/// The version of the format.
const VERSION: u64 = 1;

pub(super) fn head(mut fields: Fields) -> Result<Head, String> {
    if fields.verb()? != "zt" {
        return Err("a transcript starts with its header, {\"zt\":1}".to_owned());
    }
    match fields.take("zt") {
        Value::Number(version) if version.as_u64() == Some(VERSION) => {}
        other => {
            return Err(format!(
                "`zt` must be {VERSION}, the format version, not {}",
                shown(&other)
            ));
        }
    }
    let head = Head {
        name: fields.text("name")?,
        about: fields.text("about")?,
        extension: fields.text("extension")?,
        needs: match fields.object("needs")? {
            Some(fields) => needs(fields)?,
            None => Needs::default(),
        },
        ignore: fields.texts("ignore")?,
    };
    fields.finish("the header")?;
    Ok(head)
}

fn needs(mut fields: Fields) -> Result<Needs, String> {
    let needs = Needs {
        tools: fields.texts("tools")?,
        commands: fields.texts("commands")?,
        intercept: fields.texts("intercept")?,
    };
    fields.finish("`needs`")?;
    Ok(needs)
}
