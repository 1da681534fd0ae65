//! LIF: shutdown, exit and cleanup.

use std::time::Duration;

use rustix::process::Signal;
use zot_process::Exit;
use zot_protocol::limits;

use super::{
    Check, Checked, Cx, Fault, PASS, Profile, Run, Stop, broken, command, context::with_stderr,
    tool,
};
use crate::{
    diagnose::shown,
    session::{History, ReceivedLine, Session},
    verdict::{Finding, Level},
};

/// Id of the check that tests whether the extension exits after `shutdown`.
pub(super) const EXITS: &str = "LIF-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: EXITS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "exits within 2 s of `shutdown`",
        does: "Sends `shutdown`, closes stdin, then waits for the extension to exit.",
        why: "After 2 s the host sends SIGTERM, and 1 s later SIGKILL. Unsaved data is lost.",
        fix: "On `shutdown`, leave the loop, save your data, send `shutdown_ack`, and exit.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(shutdown(cx))),
    },
    Check {
        id: "LIF-02",
        level: Level::Should,
        profile: Profile::Quick,
        title: "sends `shutdown_ack`, and nothing after it",
        does: "Looks for `shutdown_ack` after `shutdown`.",
        why: "It tells the host that the exit is intended and not a crash.",
        fix: r#"Answer `shutdown` with {"type":"shutdown_ack"} as the last line."#,
        needs: &["LIF-01"],
        run: Run::TriedAndWatched(|cx| Box::pin(acknowledged(cx)), nothing_after_ack),
    },
    Check {
        id: "LIF-03",
        level: Level::Must,
        profile: Profile::Quick,
        title: "exits within 2 s of the end of stdin",
        does: "Closes stdin without sending `shutdown`, then waits for the extension to exit.",
        why: "A host that is killed sends no `shutdown`. An extension that ignores the end of stdin runs forever.",
        fix: "Exit at the end of stdin.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(end_of_input(cx))),
    },
    Check {
        id: "LIF-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "exits with code 0",
        does: "Checks the exit status after `shutdown` and after the end of stdin.",
        why: "Any other code looks like a crash in the log.",
        fix: "Exit with 0 when asked to exit.",
        needs: &["LIF-01", "LIF-03"],
        run: Run::Tried(|cx| Box::pin(code_zero(cx))),
    },
    Check {
        id: "LIF-05",
        level: Level::Should,
        profile: Profile::Safe,
        title: "exits within 2 s of `shutdown` during a request",
        does: "Sends a request, immediately followed by `shutdown`.",
        why: "Users quit while requests are running.",
        fix: "Do not wait for unfinished work.",
        needs: &["LIF-01"],
        run: Run::Probed(|cx| Box::pin(in_the_middle(cx))),
    },
    Check {
        id: "LIF-06",
        level: Level::Should,
        profile: Profile::Safe,
        title: "exits within 1 s of SIGTERM",
        does: "Sends SIGTERM while stdin stays open.",
        why: "The host sends SIGKILL one second later.",
        fix: "Keep the default handler for SIGTERM, or save and exit in your own.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(terminated(cx))),
    },
    Check {
        id: "LIF-07",
        level: Level::Should,
        profile: Profile::Safe,
        title: "leaves no process behind",
        does: "Calls each tool and command once, shuts the extension down, and looks for child processes.",
        why: "A host kills leftover processes, but other programs may not.",
        fix: "Wait for child processes, or kill them, before you exit.",
        needs: &["LIF-01"],
        run: Run::Probed(|cx| Box::pin(nothing_left(cx))),
    },
    Check {
        id: "LIF-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "works again after SIGKILL",
        does: "Kills the extension and starts it again with the same data directory.",
        why: "A stale lock file or partly written state must not break the extension permanently.",
        fix: "Write files atomically (to a temporary file, then rename), and use locks that the system releases on exit.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(after_kill(cx))),
    },
];

fn nothing_after_ack(received: &ReceivedLine, before: &History) -> Option<Finding> {
    (before.shutdown_acked && !received.is_too_long()).then(|| {
        Finding::new("a line after `shutdown_ack`")
            .frame(&received.shown, None)
            .hint("send `shutdown_ack` last, then exit")
    })
}

async fn shutdown(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    cx.shut_down(&mut session).await?;
    PASS
}

async fn acknowledged(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    cx.shut_down(&mut session).await?;
    if session
        .received()
        .iter()
        .any(|received| received.is("shutdown_ack"))
    {
        return PASS;
    }
    Err(Finding::new("it sent no `shutdown_ack`").into())
}

async fn end_of_input(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    ended(cx, &mut session).await?;
    Ok(needless_ack(&session))
}

/// Records a `shutdown_ack` without a `shutdown`.
fn needless_ack(session: &Session) -> Vec<Finding> {
    let acked = session.received().iter().any(|it| it.is("shutdown_ack"));
    let note = "it sent `shutdown_ack`, which is only needed after `shutdown`";
    acked.then(|| Finding::new(note)).into_iter().collect()
}

async fn ended(cx: &Cx, session: &mut Session) -> Result<Exit, Stop> {
    session.close_stdin();
    let within = cx.scaled(limits::SHUTDOWN_GRACE);
    match session.exit(within).await {
        Some(exit) => Ok(exit),
        None => {
            let what = format!(
                "it is still running {} after the end of stdin",
                shown(within)
            );
            let hint = "exit at the end of stdin; an empty read means the end, so do not retry it";
            Err(Finding::new(what).hint(hint).into())
        }
    }
}

async fn code_zero(cx: &Cx) -> Checked {
    let mut faults: Vec<Fault> = Vec::new();
    let mut check_exit = |when: &str, exit: Exit, session: &Session| {
        if !exit.success() {
            let finding = Finding::new(format!("{exit} after {when}"));
            faults.push(with_stderr(finding, session).into());
        }
    };
    let mut session = cx.open().await?;
    let exit = cx.shut_down(&mut session).await?;
    check_exit("`shutdown`", exit, &session);
    let mut session = cx.open().await?;
    let exit = ended(cx, &mut session).await?;
    check_exit("the end of stdin", exit, &session);
    broken(faults)
}

async fn in_the_middle(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    let Some(request) = cx.slowest(&mut session)? else {
        return Err(Stop::not_applicable(
            "it registers nothing that answers requests",
        ));
    };
    let _ = session.send(&request.frame).await;
    cx.shut_down(&mut session).await?;
    PASS
}

async fn terminated(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    session.signal(Signal::TERM, "SIGTERM");
    let within = cx.scaled(limits::TERM_GRACE);
    match session.exit(within).await {
        Some(_) => Ok(needless_ack(&session)),
        None => {
            let what = format!("it is still running {} after SIGTERM", shown(within));
            Err(Finding::new(what).into())
        }
    }
}

async fn nothing_left(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    let replies = |session: &Session| {
        let reply = |it: &&ReceivedLine| it.is("tool_result") || it.is("command_response");
        session.received().iter().filter(reply).count()
    };
    for tool in cx.callable().filter(|tool| tool.minimal().is_ok()) {
        let request = cx.call(&mut session, tool)?;
        if cx.ask(&mut session, &request).await.is_err() {
            return Err(Stop::BlockedBy(tool::ANSWERS));
        }
    }
    for name in cx.commands() {
        let request = cx.command(&mut session, name, "");
        if cx.ask(&mut session, &request).await.is_err() {
            return Err(Stop::BlockedBy(command::ANSWERS));
        }
    }
    if replies(&session) > 0 {
        // Wait for a late second reply, which would break another rule.
        session.listen(cx.scaled(Duration::from_secs(1))).await;
    }
    let used = replies(&session);
    cx.shut_down(&mut session).await?;
    // Give child processes a moment to exit.
    tokio::time::sleep(cx.scaled(Duration::from_millis(100))).await;
    let left = session.descendants().await;
    if left.is_empty() {
        return PASS;
    }
    let named: Vec<String> = left.iter().map(ToString::to_string).collect();
    let replies = if used == 1 { "reply" } else { "replies" };
    let what = format!(
        "{} left running after the extension sent {used} {replies} and exited: {}",
        plural(left.len()),
        named.join(", ")
    );
    Err(Finding::new(what)
        .hint("wait for child processes, or kill them, before you exit")
        .into())
}

fn plural(count: usize) -> String {
    match count {
        1 => "one process".to_owned(),
        n => format!("{n} processes"),
    }
}

async fn after_kill(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    cx.alive(&mut session).await?;
    session.signal(Signal::KILL, "SIGKILL");
    session.exit(cx.scaled(Duration::from_secs(5))).await;
    let directories = session.directories();
    drop(session);
    let again = async {
        let mut session = cx.reopen(directories).await?;
        cx.alive(&mut session).await
    };
    match again.await {
        Ok(_) => PASS,
        // The first start worked, and only the contents of the data directory have changed since,
        // so they are the cause.
        Err(Stop::NotExercised(finding)) => Err(told_again((*finding).into())),
        Err(Stop::Broken(mut faults)) if !faults.is_empty() => {
            Err(told_again(faults.swap_remove(0)))
        }
        Err(stop) => Err(stop),
    }
}

fn told_again(fault: Fault) -> Stop {
    // Leave out the frames, because those of one session cannot reproduce the fault.
    fault.finding.prefixed("on the second start").into()
}
