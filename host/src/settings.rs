//! The user's configuration. Reading reports invalid fields; writing leaves the rest of the file
//! unchanged.

mod approvals;

use std::{
    fs::{self, OpenOptions, TryLockError},
    io,
    ops::Range,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use zot_protocol::{
    ApprovalRule, Config, InterceptMode, InterceptName, Object, Trust,
    validate::{self, Hint, Refusal},
};

use crate::{
    file::{Locked, replace, set_aside, with_suffix},
    home::{Home, create_private_parent},
    untrusted::read_own,
};

/// The size limit of `config.json`.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long to wait for another process that is writing the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The configuration, and the problems found in it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The configuration. Invalid and missing fields have their defaults, except that `confirm` and
    /// `jail` count as true if they are invalid or the file cannot be used, and that an invalid
    /// rule in `approvals` counts as an `ask` rule.
    pub config: Config,
    /// The problems found.
    pub notices: Vec<SettingsNotice>,
}

/// A problem in the configuration file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsNotice {
    /// A field is invalid. The other fields are used.
    #[error("{}: {refusal}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field and the reason.
        refusal: Refusal,
    },
    /// There is no setting with this name, so it has no effect.
    #[error("{}: {hint}; {}", path.display(), hint.fix())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The setting, and a known one with a similar name.
        hint: Hint,
    },
    /// A rule in `approvals` is invalid, so it counts as an `ask` rule.
    #[error("{}: {pointer}: invalid rule, so zot asks before calls that it may apply to", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// The rule.
        pointer: String,
    },
    /// The file is not a valid JSON object, so nothing in it is used. It is kept for the user to
    /// fix.
    #[error(
        "{}: {refusal}: using the defaults, with tools jailed\nhint: fix or remove the file; a copy is in `{}`",
        path.display(), aside.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The backup copy.
        aside: PathBuf,
        /// The place and the reason.
        refusal: Refusal,
    },
    /// The file cannot be read, or a damaged one cannot be backed up.
    #[error("{}: {source}: using the defaults, with tools jailed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

/// Error returned by [`set_trust`] and [`add_approval`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Another process has held the lock for too long.
    #[error("`{}` is locked by another process\nhint: try again", .0.display())]
    Busy(PathBuf),
    /// The file is not a valid configuration, and is left for the user to fix.
    #[error("`{}` is not a valid configuration file\nhint: fix or remove it", .0.display())]
    Damaged(PathBuf),
    /// There is no position at which the rule takes effect without overriding one of the user's
    /// other rules.
    #[error("cannot add the rule to `approvals` in `{}`: a `deny` rule follows an `ask` rule\nhint: add the rule by hand", .0.display())]
    Conflict(PathBuf),
    /// The file cannot be read or written.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

impl Settings {
    /// Reads the configuration. If the file is missing, returns the defaults.
    pub fn load(home: &Home) -> Self {
        let path = home.config();
        let bytes = match read_own(&path, MAX_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Self::default(),
            Err(source) => return Self::broken(SettingsNotice::Io { path, source }),
        };
        if let Err(refusal) = check(&bytes) {
            return Self::broken(match set_aside(&path, "bad", &bytes) {
                Ok(aside) => SettingsNotice::Damaged {
                    path,
                    aside,
                    refusal,
                },
                Err(source) => SettingsNotice::Io { path, source },
            });
        }
        let (mut config, refused) = validate::config(&bytes);
        for refusal in &refused {
            match refusal.pointer.as_str() {
                "/confirm" => config.confirm = Some(true),
                "/jail" => config.jail = Some(true),
                _ => {}
            }
        }
        let (approvals, invalid_rules) = approvals::strict(&bytes);
        config.approvals = approvals;
        let invalid_rules = invalid_rules
            .into_iter()
            .map(|pointer| SettingsNotice::Rule {
                path: path.clone(),
                pointer,
            });
        let invalid = refused.into_iter().map(|refusal| SettingsNotice::Field {
            path: path.clone(),
            refusal,
        });
        let hints = validate::config_hints(&bytes).into_iter();
        let unknown = hints.map(|hint| SettingsNotice::Unknown {
            path: path.clone(),
            hint,
        });
        Self {
            config,
            notices: invalid.chain(unknown).chain(invalid_rules).collect(),
        }
    }

    /// Reads the configuration without reporting problems and without backing up a damaged file.
    pub fn load_quietly(home: &Home) -> Config {
        let bytes = read_own(&home.config(), MAX_BYTES)
            .ok()
            .flatten()
            .unwrap_or_default();
        let mut config = validate::config(&bytes).0;
        config.approvals = approvals::strict(&bytes).0;
        config
    }

    /// Reports whether the file exists but cannot be used.
    pub fn is_broken(&self) -> bool {
        let is_about_a_field = |notice: &SettingsNotice| {
            matches!(
                notice,
                SettingsNotice::Field { .. }
                    | SettingsNotice::Unknown { .. }
                    | SettingsNotice::Rule { .. }
            )
        };
        !self.notices.iter().all(is_about_a_field)
    }

    fn broken(notice: SettingsNotice) -> Self {
        let mut config = Config::default();
        (config.confirm, config.jail) = (Some(true), Some(true));
        Self {
            config,
            notices: vec![notice],
        }
    }
}

/// Stores in [`Config::trusted`] whether the user trusts the extension in `dir`. Replaces the file
/// atomically and keeps the rest of it byte for byte.
pub fn set_trust(home: &Home, dir: &str, trust: &Trust) -> Result<(), SettingsError> {
    update(home, "trusted", |path, _, answers| {
        let mut answers = match answers {
            Some(Value::Object(answers)) => answers,
            _ => Object::new(),
        };
        let trust = serde_json::to_value(trust);
        let trust = trust.map_err(|_| SettingsError::Damaged(path.to_owned()))?;
        answers.insert(dir.to_owned(), trust);
        Ok(Some(Value::Object(answers)))
    })
}

/// Adds a rule to [`Config::approvals`], at a position where it has the same effect as
/// [`Approvals::grant`](crate::approval::Approvals::grant). Replaces the file atomically and keeps
/// the rest of it byte for byte.
pub fn add_approval(home: &Home, rule: &ApprovalRule) -> Result<(), SettingsError> {
    update(home, "approvals", |path, bytes, rules| {
        approvals::with(rule, bytes, rules, path)
    })
}

/// Sets in [`Config::extensions`] how the answers of an extension about these events are used.
/// Replaces the file atomically and keeps the rest of it byte for byte.
pub fn set_intercept_mode(
    home: &Home,
    extension: &str,
    events: &[InterceptName],
    mode: InterceptMode,
) -> Result<(), SettingsError> {
    update(home, "extensions", |path, _, extensions| {
        let damaged = || SettingsError::Damaged(path.to_owned());
        let mut extensions = extensions.unwrap_or_else(|| Object::new().into());
        let own = entry(&mut extensions, extension).ok_or_else(damaged)?;
        let intercept = entry(own, "intercept").ok_or_else(damaged)?;
        for event in events {
            let event = entry(intercept, event.as_str()).ok_or_else(damaged)?;
            let event = event.as_object_mut().ok_or_else(damaged)?;
            match mode {
                InterceptMode::Audit => event.insert("mode".to_owned(), "audit".into()),
                // It is the default.
                _ => event.shift_remove("mode"),
            };
        }
        // Leave nothing behind that says nothing.
        let is_empty = |value: &Value| value.as_object().is_some_and(Object::is_empty);
        if let Some(intercept) = intercept.as_object_mut() {
            intercept.retain(|_, event| !is_empty(event));
        }
        if let Some(own) = own.as_object_mut() {
            own.retain(|key, value| key != "intercept" || !is_empty(value));
        }
        if let Some(extensions) = extensions.as_object_mut() {
            extensions.retain(|name, own| name != extension || !is_empty(own));
        }
        Ok(Some(extensions))
    })
}

/// Returns the value of a field, which is an empty object if it is missing or null. Returns `None`
/// if `value` is not an object.
fn entry<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    let value = value.as_object_mut()?.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = Object::new().into();
    }
    Some(value)
}

/// Replaces the value of `key`. `change` receives the path, the file's contents and the current
/// value. It returns the new value, or `None` to change nothing.
fn update(
    home: &Home,
    key: &str,
    change: impl FnOnce(&Path, &[u8], Option<Value>) -> Result<Option<Value>, SettingsError>,
) -> Result<(), SettingsError> {
    let path = home.config();
    let failed = |source| SettingsError::Io {
        path: path.clone(),
        source,
    };
    let damaged = || SettingsError::Damaged(path.clone());
    create_private_parent(&path).map_err(failed)?;
    let _lock = lock(&path)?;
    let before = read_own(&path, MAX_BYTES)
        .map_err(failed)?
        .unwrap_or_else(|| b"{}\n".to_vec());
    // Do not replace a damaged file: that would lose the user's settings, including `confirm` and
    // `jail`.
    check(&before).map_err(|_| damaged())?;
    let value = strict(&before).and_then(|mut config| config.remove(key));
    let Some(value) = change(&path, &before, value)? else {
        return Ok(());
    };
    let after = with_value(&before, key, &value).ok_or_else(damaged)?;
    // Do not write anything that cannot be read back.
    if strict(&after).as_ref().and_then(|config| config.get(key)) != Some(&value) {
        let message = format!("cannot add `{key}` to the file");
        return Err(failed(io::Error::other(message)));
    }
    // Keep the user's symlink and write to its target.
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mode = fs::metadata(&real).map_or(0o600, |file| file.permissions().mode() & 0o777);
    replace(&real, &after, |new| {
        new.set_permissions(fs::Permissions::from_mode(mode))
    })
    .map_err(failed)
}

/// Parses the file as a JSON object.
fn strict(bytes: &[u8]) -> Option<Object> {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match validate::strict_json(body) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Returns the byte range of the value of `wanted` in the text of a JSON object.
fn place_of(wanted: &str, text: &str) -> Option<Range<usize>> {
    let mut at = text.find('{')? + 1;
    loop {
        let key: String = next(text, &mut at)?;
        at += text[at..].find(':')? + 1;
        at += text[at..].len() - text[at..].trim_start().len();
        let start = at;
        let _: IgnoredAny = next(text, &mut at)?;
        if key == wanted {
            return Some(start..at);
        }
        at += text[at..].find(',')? + 1;
    }
}

/// Parses the next value and advances `at` past it.
fn next<'t, T: Deserialize<'t>>(text: &'t str, at: &mut usize) -> Option<T> {
    let mut values = serde_json::Deserializer::from_str(&text[*at..]).into_iter();
    let value = values.next()?.ok()?;
    *at += values.byte_offset();
    Some(value)
}

/// Returns the text with the value of a key replaced or added.
fn with_value(bytes: &[u8], key: &str, value: &Value) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let before = text.len() - body.len();
    let place = place_of(key, body).map(|place| place.start + before..place.end + before);

    let indent = indent_of(body);
    let pretty = serde_json::to_string_pretty(value).ok()?;
    let pretty = reindented(&pretty, indent);
    let (start, end, new) = match place {
        Some(place) => (place.start, place.end, pretty),
        None => {
            let close = text.rfind('}')?;
            let last = text[..close].trim_end();
            let comma = if last.ends_with('{') { "" } else { "," };
            let newline = if text[last.len()..close].contains('\n') {
                ""
            } else {
                "\n"
            };
            let new = format!("{comma}\n{indent}\"{key}\": {pretty}{newline}");
            (last.len(), last.len(), new)
        }
    };
    let whole = format!("{}{new}{}", &text[..start], &text[end..]);
    Some(whole.into_bytes())
}

/// Returns the indentation of the first field.
fn indent_of(text: &str) -> &str {
    let after = text.split_once('{').map_or("", |(_, after)| after);
    let until = after.find(|character: char| !character.is_whitespace());
    let space = &after[..until.unwrap_or(0)];
    match space.rsplit_once('\n') {
        Some((_, indent)) if !indent.is_empty() => indent,
        _ => "  ",
    }
}

/// Reindents pretty-printed JSON to be the value of a field that is indented by `indent`.
fn reindented(pretty: &str, indent: &str) -> String {
    let lines = pretty.lines().map(|line| {
        let body = line.trim_start_matches(' ');
        let level = (line.len() - body.len()) / 2;
        format!("{}{body}", indent.repeat(level + 1))
    });
    let lines: Vec<_> = lines.collect();
    lines.join("\n").trim_start().to_owned()
}

/// Checks that the bytes are a strict JSON object.
fn check(bytes: &[u8]) -> Result<(), Refusal> {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if validate::strict_json(body)?.is_object() {
        return Ok(());
    }
    // Validating against the schema produces an error that says what is wrong.
    validate::config(bytes)
        .1
        .into_iter()
        .next()
        .map_or(Ok(()), Err)
}

/// Locks a file next to `path`, since `path` itself is replaced.
fn lock(path: &Path) -> Result<Locked, SettingsError> {
    let beside = with_suffix(path, ".lock");
    let failed = |source| SettingsError::Io {
        path: beside.clone(),
        source,
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&beside)
        .map_err(failed)?;
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        file = match Locked::try_new(file) {
            Ok(locked) => return Ok(locked),
            Err((file, TryLockError::WouldBlock)) if Instant::now() < until => file,
            Err((_, TryLockError::WouldBlock)) => {
                return Err(SettingsError::Busy(path.to_owned()));
            }
            Err((_, TryLockError::Error(error))) => return Err(failed(error)),
        };
        thread::sleep(Duration::from_millis(1));
    }
}
