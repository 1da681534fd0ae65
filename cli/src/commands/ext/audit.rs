//! `zot ext audit NAME` and `zot ext enforce NAME`.

use zot_host::settings;
use zot_protocol::{InterceptMode, InterceptName};

use super::Context;
use crate::{args::Audit, exit::Usage, output, package::installed};

pub(super) fn run(context: &Context, args: &Audit, mode: InterceptMode) -> anyhow::Result<()> {
    let events = events(&args.event)?;
    let own = settings::Settings::load_quietly(&context.home)
        .extensions
        .remove(&args.name);
    let was_audited = own.is_some_and(|own| own.audited().any(|it| events.contains(it)));
    settings::set_intercept_mode(&context.home, &args.name, &events, mode)?;
    let name = &args.name;
    let of = if args.event.is_empty() {
        String::new()
    } else {
        format!(" for {}", args.event.join(", "))
    };
    let text = match mode {
        InterceptMode::Audit => format!(
            "✓ {name} is in audit mode{of}: its answers are recorded, but not applied\n\
             hint: `zot ext why` shows them; `zot ext enforce {name}` applies them again"
        ),
        _ if was_audited => format!("✓ the answers of {name} are applied again{of}"),
        _ => format!("– {name} was not in audit mode{of}; nothing was changed"),
    };
    let all = installed::all_lenient(&context.cwd, &context.home)?;
    if !all.iter().any(|it| it.name() == name) {
        output::note(format_args!("! {name} is not installed here"));
    }
    output::line(text)
}

/// Returns the events with these names, or all events if no names are given.
fn events(names: &[String]) -> anyhow::Result<Vec<InterceptName>> {
    if names.is_empty() {
        return Ok(InterceptName::KNOWN.to_vec());
    }
    let known = |name: &String| {
        let event = InterceptName::from(name.as_str());
        if event.is_known() {
            return Ok(event);
        }
        let known: Vec<&str> = InterceptName::KNOWN
            .iter()
            .map(InterceptName::as_str)
            .collect();
        let known = known.join(", ");
        let name = name.escape_debug();
        Err(Usage::new(format!(
            "no such event: `{name}`\nhint: the events are {known}"
        ))
        .into())
    };
    names.iter().map(known).collect()
}
