//! Starts all extensions that `zot` would start, and examines each.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use zot_host::{
    Host,
    extension::{
        LastKnown, Launch, PermissionReport,
        connection::Tap,
        discover::{self, FindError, MANIFEST, escape},
    },
    home::Home,
    settings::Settings,
};
use zot_protocol::{
    Config, limits,
    rpc::{ExtensionInfo, ExtensionState},
    validate::Hint,
};

use super::{
    clock::{Clock, Times},
    diagnosis::{Diagnosis, Problem},
};
use crate::{
    author::mistakes::Mistakes,
    clean,
    logs::Mark,
    package::installed::{Installed, LoadState},
    short_lived_host::{self, ShortLivedHost},
    spinner::with_spinner,
};
use parking_lot::Mutex;

/// How long to watch a ready extension, to catch a crash right after startup.
const SETTLE: Duration = Duration::from_millis(150);
/// How many lines of standard error to show for an extension that failed.
const STDERR_LINES: usize = 10;
/// zot's own log lines that contain one of these are skipped, because the diagnosis already reports
/// them in other words.
const REPORTED_ELSEWHERE: [&str; 6] = [
    "is shadowed by",
    "its permissions: ",
    "granted path does not exist: ",
    "has not sent hello",
    "before it sent hello",
    "was shut down",
];

/// The data collected about an extension that was started.
struct Started {
    info: ExtensionInfo,
    permissions: PermissionReport,
    times: Times,
    shadowed: Vec<(&'static str, String, Option<String>)>,
    /// Why the extension will never be ready, if known.
    hint: Option<Hint>,
    /// Other mistakes in its output, each with its fix.
    mistakes: Vec<(String, String)>,
    /// The log lines since the start.
    log: Vec<String>,
}

/// Examines all installed extensions, in load order.
pub(crate) fn examine(
    all: &[Installed],
    cwd: &Path,
    home: &Home,
) -> anyhow::Result<Vec<Diagnosis>> {
    let mut launches = Vec::new();
    for it in all.iter().filter(|it| it.state == LoadState::Enabled) {
        if let Some(manifest) = &it.manifest {
            let mut launch = Launch::new(manifest.clone(), &it.dir, home);
            launch.scope = it.store.scope;
            if let Ok((_, unknown)) = discover::read_manifest(&it.dir.join(MANIFEST)) {
                launch.unknown_fields = unknown;
            }
            launches.push(launch);
        }
    }
    let mut started = short_lived_host::block_on(start(launches, cwd, home))?;
    let config = Settings::load_quietly(home);
    Ok(all
        .iter()
        .map(|it| diagnose(it, home, &config, started_of(it, &mut started)))
        .collect())
}

fn started_of(it: &Installed, started: &mut BTreeMap<String, Started>) -> Option<Started> {
    (it.state == LoadState::Enabled).then(|| started.remove(it.name()))?
}

/// Starts the extensions, watches them and stops them.
async fn start(
    launches: Vec<Launch>,
    cwd: &Path,
    home: &Home,
) -> anyhow::Result<BTreeMap<String, Started>> {
    if launches.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut marks: BTreeMap<String, Mark> = launches
        .iter()
        .map(|launch| launch.name().to_owned())
        .map(|name| (name.clone(), Mark::of(&home.log_of(&name))))
        .collect();
    let observer = Arc::new(Observer::new(&launches));
    let mut config = short_lived_host::config(cwd, home, &launches);
    config.tap = Some(Arc::clone(&observer) as Arc<dyn Tap>);
    let running = ShortLivedHost::start(config)?;
    let watched = tokio::select! {
        biased;
        exit = short_lived_host::interrupted() => Err(exit.into()),
        hints = watch(&running.host, launches, &observer, cwd) => {
            Ok(collect(&running.host, &observer, &mut marks, hints))
        }
    };
    let ending = || "waiting for extensions to exit".to_owned();
    with_spinner(ending, running.stop()).await;
    watched
}

/// Observes the output of all extensions.
struct Observer {
    clock: Clock,
    mistakes: BTreeMap<String, Mistakes>,
}

impl Observer {
    fn new(launches: &[Launch]) -> Self {
        let names = launches.iter().map(|launch| launch.name().to_owned());
        Self {
            clock: Clock::start(),
            mistakes: names.map(|name| (name, Mistakes::default())).collect(),
        }
    }
}

impl Tap for Observer {
    fn received(&self, extension: &str, line: &[u8]) {
        self.clock.received(extension, line);
        if let Some(mistakes) = self.mistakes.get(extension) {
            mistakes.received(extension, line);
        }
    }

    fn sent(&self, _: &str, _: &[u8]) {}
}

/// Starts the extensions. For each one that will never be ready, returns the reason.
async fn watch(
    host: &Host,
    launches: Vec<Launch>,
    observer: &Observer,
    cwd: &Path,
) -> BTreeMap<String, Hint> {
    let hints = Mutex::new(BTreeMap::new());
    let probes = launches.clone();
    let probing = probes.iter().map(|launch| async {
        let hint = observer.mistakes[launch.name()].no_hello(launch, cwd).await;
        hints.lock().insert(launch.name().to_owned(), hint);
    });
    let probing = async {
        futures_util::future::join_all(probing).await;
        std::future::pending::<()>().await;
    };
    let hopeless = async {
        loop {
            tokio::time::sleep(SETTLE).await;
            let starting = host.extensions().into_iter();
            let mut starting = starting.filter(|it| it.state == ExtensionState::Starting);
            let hints = hints.lock();
            if !hints.is_empty() && starting.all(|it| hints.contains_key(&it.name)) {
                break;
            }
        }
    };
    let loading = async {
        tokio::select! {
            _ = host.load(launches) => tokio::time::sleep(SETTLE).await,
            () = hopeless => {}
            () = probing => {}
        }
    };
    let activity = || {
        let all = host.extensions().into_iter();
        let starting = all.filter(|info| info.state == ExtensionState::Starting);
        let names: Vec<String> = starting.map(|info| info.name).collect();
        match names.join(", ") {
            names if names.is_empty() => "checking that the extensions keep running".to_owned(),
            names => format!("starting {names}"),
        }
    };
    with_spinner(activity, loading).await;
    hints.into_inner()
}

fn collect(
    host: &Host,
    observer: &Observer,
    marks: &mut BTreeMap<String, Mark>,
    mut hints: BTreeMap<String, Hint>,
) -> BTreeMap<String, Started> {
    let registry = host.registry();
    let mut permissions: BTreeMap<String, PermissionReport> =
        host.permissions().into_iter().collect();
    let mut started = BTreeMap::new();
    for info in host.extensions() {
        let name = info.name.clone();
        let Some(permissions) = permissions.remove(&name) else {
            continue;
        };
        let shadowed = registry
            .shadowed()
            .iter()
            .filter(|it| it.extension == name)
            .map(|it| (it.kind, it.name.clone(), it.by.clone()))
            .collect();
        let one = Started {
            times: observer.clock.of(&name),
            hint: hints.remove(&name),
            mistakes: observer.mistakes[&name].found(""),
            log: marks.remove(&name).map(Mark::since).unwrap_or_default(),
            info,
            permissions,
            shadowed,
        };
        started.insert(name, one);
    }
    started
}

fn diagnose(it: &Installed, home: &Home, config: &Config, started: Option<Started>) -> Diagnosis {
    let manifest = it.manifest.as_ref();
    let mut diagnosis = Diagnosis {
        name: it.name().to_owned(),
        version: manifest.and_then(|manifest| manifest.version.clone()),
        scope: it.store.scope.to_string(),
        dir: it.dir.clone(),
        state: it.state.word(),
        times: Times::default(),
        registers: None,
        shadowed: Vec::new(),
        permissions: None,
        changed: it.is_changed(),
        log: home.log_of(it.name()),
        aside: None,
        problems: Vec::new(),
        warnings: Vec::new(),
        stderr: Vec::new(),
    };
    match &it.state {
        LoadState::Enabled => {}
        LoadState::Disabled => {
            let how = format!(
                "disabled in its manifest; run `zot ext enable {}` to enable it",
                it.name()
            );
            diagnosis.aside = Some(how);
        }
        LoadState::Shadowed(by) => diagnosis.aside = Some(by.clone()),
        LoadState::Untrusted(why) => diagnosis.aside = Some(why.clone()),
        LoadState::Broken(why) => diagnosis.problems.push(in_manifest(it, why)),
    }
    if let Some(started) = started {
        add_results(&mut diagnosis, started, home);
    }
    if let Some((path, owner)) = it.separate_data(home) {
        let path = escape::path(&path);
        let apart = format!("data is in `{path}`: the default directory belongs to {owner}");
        diagnosis.warnings.push(apart);
    }
    let audited = it.audited(config);
    if !audited.is_empty() {
        let events = audited.join(", ");
        diagnosis.warnings.push(format!(
            "audit mode: its answers are not applied ({events}); `zot ext enforce {}` applies them",
            it.name()
        ));
    }
    if diagnosis.changed == Some(true) {
        let changed = "files changed since installation";
        diagnosis.warnings.push(changed.to_owned());
    }
    diagnosis
}

/// Describes what is wrong with the manifest, and where.
fn in_manifest(it: &Installed, why: &str) -> Problem {
    let file = it.dir.join(MANIFEST);
    let mut problem = Problem::of(why);
    let pointer = match discover::read_manifest(&file) {
        Err(FindError::Invalid(refusal)) => {
            problem.what.clone_from(&refusal.reason);
            Some(refusal.pointer.clone()).filter(|pointer| !pointer.is_empty())
        }
        _ => None,
    };
    let file = if file.exists() { file } else { it.dir.clone() };
    problem.place = Some((file, pointer));
    problem
}

fn add_results(diagnosis: &mut Diagnosis, started: Started, home: &Home) {
    let Started {
        info,
        permissions,
        times,
        shadowed,
        hint,
        mistakes,
        log,
    } = started;
    diagnosis.times = times;
    match (&info.state, &info.error) {
        (ExtensionState::Ready, _) => {
            diagnosis.state = "ready";
            // The file is current: the host updates it whenever the registrations change.
            diagnosis.registers = LastKnown::read(&home.last_known_of(&info.name));
        }
        (ExtensionState::Failed, why) => {
            diagnosis.state = "failed";
            let why = why.as_deref().unwrap_or("it exited");
            diagnosis.problems.push(Problem::of(&clean::text(why)));
        }
        _ => {
            diagnosis.state = "late";
            let why = match &hint {
                Some(hint) => format!("{hint}\nhint: {}", hint.fix()),
                None => "not ready in time".to_owned(),
            };
            diagnosis.problems.push(Problem::of(&why));
        }
    }
    if diagnosis.state == "ready" {
        warn(diagnosis, &permissions, &shadowed);
    } else {
        let stderr = log.iter().filter(|line| !line.starts_with("[zot]"));
        let stderr: Vec<String> = stderr.map(|line| clean::line(line)).collect();
        diagnosis.stderr = stderr[stderr.len().saturating_sub(STDERR_LINES)..].to_vec();
    }
    let is_reported = |line: &str| {
        REPORTED_ELSEWHERE.iter().any(|it| line.contains(it))
            || info.error.as_deref().is_some_and(|why| why.contains(line))
    };
    let noted = log.iter().filter_map(|line| line.strip_prefix("[zot] "));
    let is_the_problem = |line: &str| {
        let is_its_first_line =
            |it: &Hint| matches!(it, Hint::SpreadOverLines { .. }) && line.starts_with("not JSON:");
        hint.as_ref()
            .is_some_and(|it| line.contains(&it.to_string()) || is_its_first_line(it))
    };
    let noted: Vec<String> = noted
        .filter(|line| !is_reported(line) && !is_the_problem(line))
        .map(clean::line)
        .collect();
    // Skip mistakes that a log line already reports.
    let mistakes = mistakes.into_iter();
    let mistakes = mistakes
        .filter(|(what, _)| !is_the_problem(what) && !noted.iter().any(|it| it.contains(what)));
    let mistakes: Vec<String> = mistakes
        .map(|(what, fix)| format!("{what}; {fix}"))
        .collect();
    diagnosis.warnings.extend(noted);
    diagnosis.warnings.extend(mistakes);
    diagnosis.permissions = Some(permissions);
    diagnosis.shadowed = shadowed;
}

/// Adds warnings about behaviour that the author or the user may not expect.
fn warn(
    diagnosis: &mut Diagnosis,
    permissions: &PermissionReport,
    shadowed: &[(&'static str, String, Option<String>)],
) {
    let warnings = &mut diagnosis.warnings;
    match diagnosis.times.ready {
        None => warnings.push(format!(
            "never sends `ready`; zot assumes that it is ready after {} ms of silence",
            limits::AUTO_READY.as_millis()
        )),
        Some(ready) if ready > limits::STARTUP => warnings.push(format!(
            "slow to start: zot waits {} s at startup, then continues without it",
            limits::STARTUP.as_secs()
        )),
        Some(_) => {}
    }
    for (kind, name, by) in shadowed {
        let slash = if *kind == "command" { "/" } else { "" };
        let by = by.as_deref().unwrap_or("zot itself");
        warnings.push(format!(
            "{kind} {slash}{} is shadowed by {by}",
            clean::line(name)
        ));
    }
    if permissions.falls_short()
        && let Some(enforced) = &permissions.enforced
    {
        warnings.push(format!(
            "permissions are not fully enforced on this system: {enforced}"
        ));
    }
    for path in &permissions.missing {
        warnings.push(format!(
            "granted path does not exist: {}",
            discover::escape::path(path)
        ));
    }
}
