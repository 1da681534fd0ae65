//! MAN: the manifest.

use zot_protocol::validate::Hint;

use super::{Check, Checked, Cx, Profile, Run, Stop, broken};
use crate::{
    session::{ReceivedLine, Session},
    survey::{Milestone, Survey},
    target,
    verdict::{Finding, Level},
};

/// Why a check of the manifest does not apply.
pub(super) const NO_MANIFEST: &str = "a bare command has no manifest";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "MAN-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "extension.json parses and has `name` and `exec`",
        does: "Parses the manifest as JSON and looks for the two fields needed to start the extension.",
        why: "A host that cannot read the manifest reports it once and does not load the extension, so none of its commands or tools appear.",
        fix: r#"Write at least {"name":"my-ext","exec":"./my-ext"} to extension.json. `zot ext new` creates a working one."#,
        needs: &[],
        run: Run::Surveyed(|survey| of_manifest(survey, Milestone::Manifest)),
    },
    Check {
        id: "MAN-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`exec` resolves, and the program starts in the manifest's directory",
        does: "Looks up the program the way a host does and starts it in the manifest's directory. An absolute path is used as is, a path with a separator is relative to the manifest's directory, and a bare name is looked up on PATH, then next to the manifest.",
        why: "It must also start on other machines, from any working directory.",
        fix: "Make the file executable, check its `#!` line, and give its path relative to the manifest (`./my-ext`), not to your current directory.",
        needs: &[],
        run: Run::Surveyed(|survey| survey.milestone(Milestone::Program)),
    },
    Check {
        id: "MAN-03",
        level: Level::Must,
        profile: Profile::Quick,
        title: "optional fields have the right types; `args` is a list",
        does: "Validates the manifest against its published schema (`zot schema manifest`).",
        why: "A host rejects a manifest with a field of the wrong type instead of guessing what was meant.",
        fix: r#"Fix the reported field. `args` is a list of strings: "args": ["main.py"], not "args": "main.py"."#,
        needs: &[],
        run: Run::Surveyed(|survey| of_manifest(survey, Milestone::ManifestFields)),
    },
    Check {
        id: "MAN-04",
        level: Level::Must,
        profile: Profile::Quick,
        title: "the name is safe as a file name",
        does: "Matches the name against [A-Za-z0-9][A-Za-z0-9._-]{0,63}.",
        why: "The name is used for a directory and a log file, and is printed in terminals.",
        fix: "Use at most 64 letters, digits, `.`, `_` and `-`, starting with a letter or digit.",
        needs: &[],
        run: Run::Surveyed(|survey| of_manifest(survey, Milestone::ManifestName)),
    },
    Check {
        id: "MAN-05",
        level: Level::Should,
        profile: Profile::Safe,
        title: "works within its declared permissions",
        does: "Runs every command, tool and interception once with the declared permissions enforced and once without, and compares the results.",
        why: "Anything that only works without the declared permissions fails for every user.",
        fix: "Declare what it needs in `permissions` (`fs.read`, `fs.write`, `net`, `env`), or stop using it. A denied call fails with EACCES or EPERM.",
        needs: &["TOL-01", "CMD-01", "INT-01"],
        run: Run::Tried(|cx| Box::pin(permissions_hold(cx))),
    },
    Check {
        id: "MAN-06",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no field of the manifest is misspelt",
        does: "Compares unknown fields, at any depth, with the names in the manifest's schema.",
        why: "A host ignores unknown fields. A misspelt `permissions` grants everything, and a misspelt field below it grants nothing.",
        fix: "Use the name in the hint. `zot schema manifest` prints all of them.",
        needs: &[],
        run: Run::Surveyed(misspelt),
    },
];

fn misspelt(survey: &Survey) -> Option<Checked> {
    survey.registered()?;
    if survey.manifest_name.is_none() {
        return Some(Err(Stop::not_applicable(NO_MANIFEST)));
    }
    let hints = survey.manifest_hints.iter();
    let (mistakes, others): (Vec<&Hint>, Vec<_>) = hints.partition(|hint| hint.is_mistake());
    let finding = |hint: &Hint| Finding::new(hint.to_string()).hint(hint.fix());
    Some(if mistakes.is_empty() {
        Ok(others.into_iter().map(finding).collect())
    } else {
        broken(
            mistakes
                .into_iter()
                .map(|hint| finding(hint).into())
                .collect(),
        )
    })
}

fn of_manifest(survey: &Survey, milestone: Milestone) -> Option<Checked> {
    let judged = survey.milestone(milestone)?;
    if survey.registered().is_some() && survey.manifest_name.is_none() {
        return Some(Err(Stop::not_applicable(NO_MANIFEST)));
    }
    Some(judged)
}

async fn permissions_hold(cx: &Cx) -> Checked {
    let manifest = cx.target().manifest.as_ref();
    if manifest.is_none_or(|it| it.permissions.is_none()) {
        return Err(Stop::not_applicable("it declares no permissions"));
    }
    if !target::can_hold() {
        let what = "this kernel cannot enforce permissions (it needs Landlock and seccomp)";
        return Err(Stop::not_exercised(Finding::new(what)));
    }
    let held = exercise(cx, true).await?;
    let free = exercise(cx, false).await?;
    let mut faults = Vec::new();
    for ((what, held), (_, free)) in held.into_iter().zip(free) {
        if let (Some(mut finding), None) = (held, free) {
            finding.what = format!(
                "{what} works only without the declared permissions: {}",
                finding.what
            );
            finding.hint =
                Some("declare what it needs in `permissions`, or stop using it".to_owned());
            faults.push(finding.into());
        }
    }
    broken(faults)
}

/// Sends one request for each tool, command and intercepted event. Returns a description of each
/// request, and what went wrong with it, if anything.
async fn exercise(cx: &Cx, confined: bool) -> Result<Vec<(String, Option<Finding>)>, Stop> {
    let mut session = restart(cx, confined).await?;
    let mut done = Vec::new();
    let mut requests = Vec::new();
    for tool in cx.callable().filter(|it| it.minimal().is_ok()) {
        requests.push((
            format!("tool `{}`", tool.name),
            cx.call(&mut session, tool)?,
        ));
    }
    for name in cx.commands() {
        requests.push((format!("`/{name}`"), cx.command(&mut session, name, "")));
    }
    for event in cx.surface().known_intercepts() {
        let request = cx.intercept(&mut session, event, "ls");
        requests.push((format!("interception of `{event}`"), request));
    }
    for (what, request) in requests {
        let trouble = match cx.ask(&mut session, &request).await {
            Ok(received) => complaint(&received),
            Err(fault) => {
                session = restart(cx, confined).await?;
                Some(fault.finding)
            }
        };
        done.push((what, trouble));
    }
    Ok(done)
}

async fn restart(cx: &Cx, confined: bool) -> Result<Session, Stop> {
    let mut how = cx.plan.start.clone();
    how.confined = confined;
    cx.open_as(how).await
}

/// Returns a finding if the reply is an error.
fn complaint(received: &ReceivedLine) -> Option<Finding> {
    let reply = &received.value;
    let error = reply
        .get("error")
        .and_then(|it| it.as_str())
        .unwrap_or_default();
    let failed = reply.get("is_error").is_some_and(|it| it == true) || !error.is_empty();
    failed.then(|| Finding::new("it returned an error").frame(&received.shown, None))
}
