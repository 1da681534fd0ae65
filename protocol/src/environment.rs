//! The environment of a confined extension.

/// Variables that an extension with `permissions` gets without declaring them, besides `LC_*`. They
/// are what programs need to run, and never secret.
pub const BASE_ENVIRONMENT: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SYSTEMROOT",
];

/// The secret between `zot rpc` and its driver. No extension gets it, whatever it declares.
pub const RPC_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// Reports whether a confined extension gets this variable: it is in the base environment, or
/// `declared` by its manifest.
pub fn is_granted_variable(name: &str, declared: &[String]) -> bool {
    let is_base = BASE_ENVIRONMENT.contains(&name) || name.starts_with("LC_");
    name != RPC_TOKEN && (is_base || declared.iter().any(|it| it == name))
}
