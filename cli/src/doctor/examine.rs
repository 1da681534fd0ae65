//! Starts all that `zot` would start, and looks at each.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use zot_host::{
    Host,
    extension::{
        LastKnown, Launch, PermissionReport,
        connection::Tap,
        discover::{self, FindError, MANIFEST, shown},
    },
    home::Home,
};
use zot_protocol::{
    limits,
    rpc::{ExtensionInfo, ExtensionState},
};

use super::{
    clock::{Clock, Times},
    diagnosis::{Diagnosis, Problem},
};
use crate::{
    clean,
    logs::Mark,
    package::installed::{Installed, State},
    running::{self, Running},
    waiting::patiently,
};

/// How long one that is ready is watched: a crash right after it is no success.
const SETTLE: Duration = Duration::from_millis(150);
/// How many lines of its standard error are shown of one that failed.
const LAST_WORDS: usize = 10;
/// Lines of zot's in a log that are told in other words.
const TOLD_ELSEWHERE: [&str; 6] = [
    "is shadowed by",
    "its permissions: ",
    "granted and not there: ",
    "has not said hello",
    "before hello",
    "was shut down",
];

/// What is known of one that was started.
struct Started {
    info: ExtensionInfo,
    permissions: PermissionReport,
    times: Times,
    shadowed: Vec<(&'static str, String, Option<String>)>,
    /// What its log has had since.
    log: Vec<String>,
}

/// Looks at everything that is installed, in load order.
pub(crate) fn examine(
    all: &[Installed],
    cwd: &Path,
    home: &Home,
) -> anyhow::Result<Vec<Diagnosis>> {
    let mut launches = Vec::new();
    for it in all.iter().filter(|it| it.state == State::Enabled) {
        if let Some(manifest) = &it.manifest {
            let mut launch = Launch::new(manifest.clone(), &it.dir, home);
            launch.scope = it.store.scope;
            if let Ok((_, unknown)) = discover::read_manifest(&it.dir.join(MANIFEST)) {
                launch.unknown_fields = unknown;
            }
            launches.push(launch);
        }
    }
    let mut started = running::block_on(start(launches, cwd, home))?;
    Ok(all
        .iter()
        .map(|it| diagnose(it, home, started_of(it, &mut started)))
        .collect())
}

fn started_of(it: &Installed, started: &mut BTreeMap<String, Started>) -> Option<Started> {
    (it.state == State::Enabled).then(|| started.remove(it.name()))?
}

/// Starts them all, watches them, and ends them.
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
    let clock = Arc::new(Clock::start());
    let mut config = running::config(cwd, home);
    config.tap = Some(Arc::clone(&clock) as Arc<dyn Tap>);
    let hello = launches.iter().map(|launch| {
        let timeouts = launch.manifest.timeouts.as_ref();
        let ms = timeouts.and_then(|timeouts| timeouts.hello_ms);
        ms.map_or(limits::HELLO, |ms| Duration::from_millis(ms.into()))
    });
    config.limits.startup = hello.max().unwrap_or(limits::HELLO) + limits::STARTUP;
    let running = Running::start(config)?;
    let watched = tokio::select! {
        biased;
        exit = running::interrupted() => Err(exit.into()),
        () = watch(&running.host, launches) => Ok(look(&running.host, &clock, &mut marks)),
    };
    let ending = || "waiting for them to end".to_owned();
    patiently(ending, running.end()).await;
    watched
}

async fn watch(host: &Host, launches: Vec<Launch>) {
    let loading = async {
        host.load(launches).await;
        tokio::time::sleep(SETTLE).await;
    };
    let who = || {
        let all = host.extensions().into_iter();
        let starting = all.filter(|info| info.state == ExtensionState::Starting);
        let names: Vec<String> = starting.map(|info| info.name).collect();
        match names.join(", ") {
            nobody if nobody.is_empty() => "watching them for a moment".to_owned(),
            names => format!("starting {names}"),
        }
    };
    patiently(who, loading).await;
}

fn look(
    host: &Host,
    clock: &Clock,
    marks: &mut BTreeMap<String, Mark>,
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
            times: clock.of(&name),
            log: marks.remove(&name).map(Mark::since).unwrap_or_default(),
            info,
            permissions,
            shadowed,
        };
        started.insert(name, one);
    }
    started
}

fn diagnose(it: &Installed, home: &Home, started: Option<Started>) -> Diagnosis {
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
        State::Enabled => {}
        State::Disabled => {
            let how = format!(
                "its manifest says so; `zot ext enable {}` changes that",
                it.name()
            );
            diagnosis.aside = Some(how);
        }
        State::Shadowed(by) => diagnosis.aside = Some(by.clone()),
        State::Untrusted(why) => diagnosis.aside = Some(why.clone()),
        State::Broken(why) => diagnosis.problems.push(in_manifest(it, why)),
    }
    if let Some(started) = started {
        take_in(&mut diagnosis, started, home);
    }
    if let Some((path, owner)) = it.data_apart(home) {
        let path = shown::path(&path);
        let apart = format!("its data is in `{path}`: that of its name belongs to {owner}");
        diagnosis.warnings.push(apart);
    }
    if diagnosis.changed == Some(true) {
        let changed = "its files are not those that were installed";
        diagnosis.warnings.push(changed.to_owned());
    }
    diagnosis
}

/// What is wrong with its manifest, and where.
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

fn take_in(diagnosis: &mut Diagnosis, started: Started, home: &Home) {
    let Started {
        info,
        permissions,
        times,
        shadowed,
        log,
    } = started;
    diagnosis.times = times;
    match (&info.state, &info.error) {
        (ExtensionState::Ready, _) => {
            diagnosis.state = "ready";
            // Written when it became ready, and again before it was ended.
            diagnosis.registers = LastKnown::read(&home.last_known_of(&info.name));
        }
        (ExtensionState::Failed, why) => {
            diagnosis.state = "failed";
            let why = why.as_deref().unwrap_or("it ended");
            diagnosis.problems.push(Problem::of(&clean::text(why)));
        }
        _ => {
            diagnosis.state = "late";
            let why = "it did not become ready in time";
            diagnosis.problems.push(Problem::of(why));
        }
    }
    if diagnosis.state == "ready" {
        warn(diagnosis, &permissions, &shadowed);
    } else {
        let said = log.iter().filter(|line| !line.starts_with("[zot]"));
        let said: Vec<String> = said.map(|line| clean::line(line)).collect();
        diagnosis.stderr = said[said.len().saturating_sub(LAST_WORDS)..].to_vec();
    }
    let told = |line: &str| {
        TOLD_ELSEWHERE.iter().any(|told| line.contains(told))
            || info.error.as_deref().is_some_and(|why| why.contains(line))
    };
    let noted = log.iter().filter_map(|line| line.strip_prefix("[zot] "));
    let noted: Vec<String> = noted.filter(|line| !told(line)).map(clean::line).collect();
    diagnosis.warnings.extend(noted);
    diagnosis.permissions = Some(permissions);
    diagnosis.shadowed = shadowed;
}

/// What works, but not as its author or its user may think.
fn warn(
    diagnosis: &mut Diagnosis,
    permissions: &PermissionReport,
    shadowed: &[(&'static str, String, Option<String>)],
) {
    let warnings = &mut diagnosis.warnings;
    match diagnosis.times.ready {
        None => warnings.push(format!(
            "it never says ready, and is taken as ready after {} ms of silence",
            limits::AUTO_READY.as_millis()
        )),
        Some(ready) if ready > limits::STARTUP => warnings.push(format!(
            "it is slow: zot waits {} s at its start, and this one joins later",
            limits::STARTUP.as_secs()
        )),
        Some(_) => {}
    }
    for (kind, name, by) in shadowed {
        let slash = if *kind == "command" { "/" } else { "" };
        let by = by.as_deref().unwrap_or("zot itself");
        warnings.push(format!(
            "its {kind} {slash}{} is shadowed by that of {by}",
            clean::line(name)
        ));
    }
    if permissions.falls_short()
        && let Some(enforced) = &permissions.enforced
    {
        warnings.push(format!("what it may touch does not hold here: {enforced}"));
    }
    for path in &permissions.missing {
        warnings.push(format!(
            "granted, and not there: {}",
            discover::shown::path(path)
        ));
    }
}
