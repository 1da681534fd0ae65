//! The effect of each flag on the request that reaches the model.

use std::fs;

use serde_json::{Value, json};

use super::{demo, marking_extension};
use crate::support::{
    RunOutput, World,
    model::{Model, Reply},
    text,
};

/// Sends one prompt to a fake model, and returns the output and the request body.
fn request_with(world: &World, args: &[&str]) -> (RunOutput, Value) {
    let model = Model::start(vec![Reply::Text("yes".into())]);
    let flags = model.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let ran = world.zot(&[&flags, args, &["-p", "hello"]].concat());
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "yes\n"),
        "{args:?}: {ran:#?}"
    );
    let asked = model.requests();
    assert_eq!(asked.len(), 1);
    (ran, asked[0].json())
}

fn system(body: &Value) -> &str {
    assert!(
        ["system", "developer"].contains(
            &body["messages"][0]["role"]
                .as_str()
                .expect("missing `role`")
        )
    );
    body["messages"][0]["content"]
        .as_str()
        .expect("should be a string")
}

fn tools(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let names = tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().expect("no name"));
    names.collect()
}

#[test]
fn flags_select_the_tools_offered_to_the_model() {
    let world = World::new();
    let dir = marking_extension(&world, "a", "", "mark");
    let ext = ["-e", text(&dir)];
    let (_, body) = request_with(&world, &ext);
    assert_eq!(
        tools(&body),
        [
            "read",
            "write",
            "edit",
            "bash",
            "grep",
            "find",
            "background",
            "skill",
            "say-a"
        ]
    );
    let (_, body) = request_with(&world, &[&ext[..], &["--no-tools"]].concat());
    assert_eq!(tools(&body), [""; 0]);
    let (_, body) = request_with(&world, &[&ext[..], &["--tools", "bash, say-a"]].concat());
    assert_eq!(tools(&body), ["bash", "say-a"]);
    let (ran, body) = request_with(&world, &["--tools", "bash,nosuch"]);
    assert_eq!(tools(&body), ["bash"]);
    assert!(ran.err.contains("there is no tool `nosuch`"), "{}", ran.err);
}

#[test]
fn a_tool_that_is_not_offered_does_not_run() {
    let world = World::new();
    let ran = demo(
        &world,
        &[
            "--tools",
            "read",
            "-p",
            "/call bash {\"command\": \"touch ran\"}",
        ],
    );
    assert!(ran.out.contains("there is no tool `bash`"), "{ran:#?}");
    assert!(!world.work().join("ran").exists());
}

#[test]
fn flags_change_the_system_prompt() {
    let world = World::new();
    fs::create_dir(world.work().join(".git")).expect("failed to create directory");
    fs::create_dir_all(world.work().join("sub")).expect("failed to create directory");
    fs::write(world.work().join("AGENTS.md"), "Use tabs.").expect("failed to write");
    fs::write(world.work().join("sub/AGENTS.md"), "Use spaces.").expect("failed to write");
    let (_, body) = request_with(&world, &["--cwd", "sub"]);
    let told = system(&body);
    assert!(told.starts_with("You are zot"), "{told}");
    let places = ["Use tabs.", "Use spaces."].map(|part| told.find(part));
    assert!(
        places[0].is_some() && places[0] < places[1],
        "the closest file must come last: {told}"
    );
    assert!(told.contains("/work/sub. Today is 2"), "{told}");
    assert!(told.contains("write-zot-extension"), "{told}");

    let (_, body) = request_with(&world, &["--no-context-files", "--no-skill"]);
    let told = system(&body);
    assert!(
        !told.contains("Use tabs.") && !told.contains("write-zot-extension"),
        "{told}"
    );

    let given = [
        "--system-prompt",
        "You are a test.",
        "--append-system-prompt",
        "Be brief.",
        "--append-system-prompt",
        "Be kind.",
    ];
    let (_, body) = request_with(&world, &given);
    let told = system(&body);
    assert!(
        told.starts_with("You are a test.") && told.ends_with("Be brief.\n\nBe kind."),
        "{told}"
    );
}

#[test]
fn with_skills_offers_project_and_user_skills() {
    let world = World::new();
    for (place, name) in [
        (world.work().join(".zot/skills/own"), "own"),
        (world.path("zot/skills/mine"), "mine"),
    ] {
        fs::create_dir_all(&place).expect("failed to create directory");
        let body = format!("---\nname: {name}\ndescription: about {name}\n---\nDo it so.\n");
        fs::write(place.join("SKILL.md"), body).expect("failed to write");
    }
    let (_, body) = request_with(&world, &[]);
    assert!(!system(&body).contains("about own"));
    let (_, body) = request_with(&world, &["--with-skills"]);
    let told = system(&body);
    assert!(
        told.contains("- own: about own") && told.contains("- mine: about mine"),
        "{told}"
    );
    let ran = demo(
        &world,
        &["--with-skills", "-p", "/call skill {\"name\": \"own\"}"],
    );
    assert!(ran.out.contains("Do it so."), "{ran:#?}");
}

#[test]
fn flags_override_the_configuration() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(
        world.path("zot/config.json"),
        json!({"provider": "demo"}).to_string(),
    )
    .expect("failed to write");
    assert!(world.zot(&["-p", "hello"]).out.contains("demo model"));
    let (_, body) = request_with(&world, &[]);
    assert_eq!(body["model"], "small");
}

#[test]
fn the_jail_confines_files_and_commands() {
    let world = World::new();
    fs::write(world.path("outside"), "hidden").expect("failed to write");
    let outside = world.path("outside");
    let calls = format!(
        "/call read {{\"path\": \"../outside\"}}\n/call read {{\"path\": \"{}\"}}\n/call bash {{\"command\": \"cat ../outside\"}}",
        text(&outside)
    );
    let ran = demo(&world, &["-p", &calls]);
    assert_eq!(ran.out.matches("hidden").count(), 3, "{ran:#?}");
    let ran = demo(&world, &["--jail", "-p", &calls]);
    assert!(!ran.out.contains("hidden"), "{ran:#?}");
}

/// An invalid or unreadable setting counts as set, because the user may have wanted the jail.
#[test]
fn config_json_can_jail_the_tools() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("secret"), "hidden").expect("failed to write");
    let call = json!({"path": world.path("secret")});
    let call = format!("/call read {call}");
    for (config, args, is_jailed) in [
        (r#"{"jail": false}"#, &[][..], false),
        (r#"{"jail": true}"#, &[], true),
        (r#"{"jail": true}"#, &["--no-jail"], false),
        (r#"{"jail": true}"#, &["--no-jail", "--jail"], true),
        (r#"{"jail": "yes"}"#, &[], true),
        (r#"{"jail": tr"#, &[], true),
        (r#"{"jail": tr"#, &["--no-jail"], false),
    ] {
        fs::write(world.path("zot/config.json"), config).expect("failed to write");
        let ran = demo(&world, &[args, &["-p", &call]].concat());
        assert_eq!(
            !ran.out.contains("hidden"),
            is_jailed,
            "{config} {args:?}: {ran:#?}"
        );
    }
}

#[test]
fn config_json_can_require_confirmation() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    for (config, args, code) in [
        (r#"{"confirm": false}"#, &["-p", "x"][..], 0),
        (r#"{"confirm": true}"#, &["-p", "x"], 2),
        (r#"{"confirm": true}"#, &["--json", "x"], 2),
        (r#"{"confirm": true}"#, &["--yolo", "-p", "x"], 0),
        (r#"{"confirm": true}"#, &["--no-tools", "-p", "x"], 0),
        (r#"{"confirm": 1}"#, &["-p", "x"], 2),
        // With a broken file, `-p` still works, but the tools are jailed.
        (r#"{"confirm": tr"#, &["-p", "x"], 0),
    ] {
        fs::write(world.path("zot/config.json"), config).expect("failed to write");
        let ran = demo(&world, args);
        assert_eq!(ran.code, Some(code), "{config} {args:?}: {ran:#?}");
        let refusal = "config.json requires confirmation of each tool call";
        assert_eq!(ran.err.contains(refusal), code == 2, "{ran:#?}");
        let is_invalid = config.contains('1');
        assert_eq!(
            ran.err.contains("/confirm: 1 is not"),
            is_invalid,
            "{ran:#?}"
        );
    }
}

#[test]
fn conflicting_flags_are_a_usage_error() {
    let world = World::new();
    for (args, why) in [
        (&["--no-yolo", "-p", "x"][..], "requires interactive mode"),
        (&["--no-yolo", "--json", "x"], "requires interactive mode"),
        (&["--resume", "-p", "x"], "requires interactive mode"),
        (&["--cwd", "nosuch", "-p", "x"], "--cwd: `nosuch`"),
        (&["--provider", "nosuch", "-p", "x"], "nosuch"),
        (&["--max-steps", "0", "-p", "x"], "--max-steps"),
        (
            &["--script", "nosuch", "--provider", "openai", "-p", "x"],
            "--script",
        ),
        (&["-p", "--json", "x"], "--json"),
    ] {
        let ran = world.zot(&[&["--provider", "demo"][..], args].concat());
        let ran = if args.contains(&"--provider") {
            world.zot(args)
        } else {
            ran
        };
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{args:?}: {ran:#?}");
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
}

#[test]
fn list_models_includes_models_json() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    let models =
        json!({"models": [{"provider": "ollama", "id": "llama9", "context_window": 8000}]});
    fs::write(world.path("zot/models.json"), models.to_string()).expect("failed to write");
    let ran = world.zot(&["--list-models"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(
        ran.err.starts_with("the built-in list is from "),
        "{ran:#?}"
    );
    for part in ["PROVIDER", "anthropic", "openai", "demo", "llama9"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let ran = world.zot(&["--list-models", "--provider", "demo"]);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    let ran = world.zot(&["--list-models", "--provider", "openrouter"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert!(
        ran.err.contains("no known models for openrouter\nhint: "),
        "{}",
        ran.err
    );
}
