//! REG: what it registers.

use super::{Check, Checked, Cx, Profile, Run};
use crate::{
    surface::Surface,
    verdict::{Finding, Level},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "REG-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "all frames up to ready validate",
        does: "Validates every registration against the schema of its type, in every process that is started.",
        why: "A host drops a registration that does not validate: the command or tool is simply not there.",
        fix: "Correct the place that is named. `zot schema from-extension/register_tool` prints the schema.",
        needs: &[],
        after: &[],
        run: Run::Watched(|_, _| None),
    },
    Check {
        id: "REG-02",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`ready` within 3 s",
        does: "Measures the time from the start to `ready`.",
        why: "Without `ready` the host waits until nothing has come for 250 ms; after 3 s the user's first turn begins without it.",
        fix: r#"Send {"type":"ready"} after the last registration. Do slow preparations after it, or when they are first needed."#,
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-03",
        level: Level::Must,
        profile: Profile::Quick,
        title: "every tool's schema compiles and is of type object",
        does: "Compiles each registered schema with the host's own bounds.",
        why: "A tool whose schema does not compile is refused; a model provider refuses a whole request for one of them.",
        fix: r##"Use a plain JSON Schema: {"type":"object","properties":{…},"required":[…]}, with references only to places in itself ("#/$defs/x")."##,
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "nothing is registered twice",
        does: "Looks for commands and tools of one name (commands compare without regard to case).",
        why: "The first counts; the second is never called.",
        fix: "Register each name once.",
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-05",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no built-in's name",
        does: "Compares the names with those of the built-in tools and commands.",
        why: "A built-in always wins: yours would never be called.",
        fix: "Choose another name, for instance with your extension's name in front.",
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-06",
        level: Level::Should,
        profile: Profile::Quick,
        title: "subscribes to known events",
        does: "Compares the names in `subscribe` with those this version has.",
        why: "An unknown name is ignored: a misspelt guard guards nothing.",
        fix: "Correct the name. `hello_ack` lists them in `supported_events` and `supported_intercepts`.",
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-07",
        level: Level::Should,
        profile: Profile::Quick,
        title: "capabilities agree with registrations",
        does: "Compares `capabilities` in `hello` with what is registered.",
        why: "People and tools read them; and some frames are sent only to those that ask for them there.",
        fix: r#"Name what you register: "capabilities": ["commands", "tools", "events", "panels"]."#,
        needs: &[],
        after: &[],
        run: Run::Surveyed,
    },
    Check {
        id: "REG-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "the same set on a second start",
        does: "Starts it again and compares what it registers.",
        why: "A reload swaps the whole set; what changes by chance is there for one user and not for another.",
        fix: "Register the same commands and tools every time; decide within the call what is possible now.",
        needs: &[],
        after: &[],
        run: Run::Tried(|cx| Box::pin(same_again(cx))),
    },
];

async fn same_again(cx: &Cx) -> Checked {
    let session = cx.open().await?;
    let mut again = Surface::default();
    let counted = cx.surface().registrations + 1;
    let lines = session.heard().iter().filter(|it| !it.is_blank());
    for heard in lines.skip_while(|it| !it.is("hello")).take(counted) {
        again.take_in(heard);
    }
    let (first, second) = (cx.surface().summary(), again.summary());
    if first == second {
        return Ok(Vec::new());
    }
    let only = |these: &[String], those: &[String]| {
        let only: Vec<&str> = these
            .iter()
            .filter(|it| !those.contains(it))
            .map(String::as_str)
            .collect();
        if only.is_empty() {
            "nothing".to_owned()
        } else {
            only.join(", ")
        }
    };
    Err(Finding::new(format!(
        "only the first time: {}; only the second time: {}",
        only(&first, &second),
        only(&second, &first)
    ))
    .into())
}
