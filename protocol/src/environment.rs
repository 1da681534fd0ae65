//! The environment of a confined extension.

/// Variables that every extension with `permissions` receives even if its manifest does not declare
/// them, in addition to `LC_*`. Programs need them to run, and they contain no secrets.
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

/// The variable that contains the secret that `zot rpc` shares with its driver. It is never passed
/// to an extension, even if the manifest declares it.
pub const RPC_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// The variables that contain the API keys of the built-in model providers. They are never passed to
/// an extension without `permissions`, nor to a command that the model runs.
pub const KEY_VARIABLES: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "XAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
];

/// Reports whether a confined extension receives this variable: it must be in the base environment
/// or among the variables that the manifest declares.
pub fn is_granted_variable(name: &str, declared: &[String]) -> bool {
    let is_base = BASE_ENVIRONMENT.contains(&name) || name.starts_with("LC_");
    name != RPC_TOKEN && (is_base || declared.iter().any(|it| it == name))
}
