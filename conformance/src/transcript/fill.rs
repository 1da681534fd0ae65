//! Strings with placeholders such as `${cwd}/src`, which are filled in for each run.

use std::fmt;

use serde_json::Value;

use super::nearest::did_you_mean;

/// A directory that differs between machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The user's working directory.
    Cwd,
    /// The directory of the manifest.
    ExtensionDir,
    /// The extension's data directory.
    DataDir,
    /// The user's home directory.
    Home,
    /// The directory for temporary files.
    Tmp,
}

impl Place {
    /// All placeholders. If two have the same path, the first one is used.
    pub const ALL: [Self; 5] = [
        Self::Cwd,
        Self::ExtensionDir,
        Self::DataDir,
        Self::Home,
        Self::Tmp,
    ];

    /// Returns the name in a transcript.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cwd => "cwd",
            Self::ExtensionDir => "extension_dir",
            Self::DataDir => "data_dir",
            Self::Home => "home",
            Self::Tmp => "tmp",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The directories on this machine, as absolute paths; `None` if unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places([Option<String>; Place::ALL.len()]);

impl Places {
    /// Adds a directory.
    #[must_use]
    pub fn with(mut self, place: Place, path: impl Into<String>) -> Self {
        self.set(place, path);
        self
    }

    /// Sets the path of a directory.
    pub fn set(&mut self, place: Place, path: impl Into<String>) {
        self.0[place as usize] = Some(path.into());
    }

    /// Adds the directories in a `hello_ack` that are not set yet.
    pub(crate) fn learn(&mut self, hello_ack: &Value) {
        for place in [Place::Cwd, Place::ExtensionDir, Place::DataDir] {
            let path = hello_ack.get(place.name()).and_then(Value::as_str);
            if let (Some(path), None) = (path, self.get(place)) {
                self.set(place, path);
            }
        }
    }

    /// Returns the path of a directory.
    pub fn get(&self, place: Place) -> Option<&str> {
        self.0[place as usize].as_deref()
    }
}

/// A parsed string with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fill(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Place(Place),
}

impl Fill {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        Self(parts)
    }

    /// Parses `${cwd}/src`. `$$` is a dollar sign, and so is a single `$` that does not start a
    /// placeholder.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            plain.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some(named) = after.strip_prefix('{') {
                let Some((name, end)) = named.split_once('}') else {
                    return Err(
                        "`${` without a closing `}`; write a dollar sign as `$$`".to_owned()
                    );
                };
                let Some(place) = Place::ALL.into_iter().find(|place| place.name() == name) else {
                    let hint = did_you_mean(name, Place::ALL.map(Place::name));
                    return Err(format!("unknown placeholder `{name}`{hint}"));
                };
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Place(place));
                rest = end;
            } else {
                plain.push('$');
                rest = after.strip_prefix('$').unwrap_or(after);
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// Fills in the directories, or returns the first unknown one.
    pub(super) fn render(&self, places: &Places) -> Result<String, Place> {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => Ok(text.as_str()),
                Part::Place(place) => places.get(*place).ok_or(*place),
            })
            .collect()
    }
}

/// Formats the string in transcript syntax.
impl fmt::Display for Fill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => formatter.write_str(&text.replace('$', "$$")),
            Part::Place(place) => write!(formatter, "${{{place}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_round_trip() {
        let fill = Fill::new(vec![
            Part::Text("echo $".to_owned()),
            Part::Place(Place::Cwd),
            Part::Text("/$HOME ${x} $".to_owned()),
        ]);
        assert_eq!(fill.to_string(), "echo $$${cwd}/$$HOME $${x} $$");
        assert_eq!(Fill::parse(&fill.to_string()), Ok(fill.clone()));
        let places = Places::default().with(Place::Cwd, "/w");
        assert_eq!(fill.render(&places).unwrap(), "echo $/w/$HOME ${x} $");
        assert_eq!(fill.render(&Places::default()), Err(Place::Cwd));
        assert_eq!(
            Fill::parse("${cwdd}").unwrap_err(),
            "unknown placeholder `cwdd`; did you mean `cwd`?"
        );
    }
}
