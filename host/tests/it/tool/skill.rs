use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;
use tempfile::TempDir;
use zot_host::{home::Home, tool::Skills};

use super::{ToolFixture, has};

fn put(folder: &Path, name: &str, text: &str) {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn skill(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

struct Places {
    folder: TempDir,
    home: Home,
}

impl Places {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder, home }
    }

    fn project(&self) -> std::path::PathBuf {
        self.folder.path().join("project")
    }

    fn find(&self) -> Skills {
        Skills::find(&self.project(), &self.home)
    }
}

#[tokio::test]
async fn the_built_in_skill_is_available() {
    let fixture = ToolFixture::new();
    let names: Vec<_> = fixture
        .toolbox
        .skills()
        .iter()
        .map(|it| it.name.clone())
        .collect();
    assert_eq!(names, ["write-zot-extension"]);
    let prompt = fixture.toolbox.skills().prompt();
    has(&prompt, "\n- write-zot-extension: ");
    let body = fixture
        .ok("skill", json!({"name": "write-zot-extension"}))
        .await;
    has(&body, "register_tool");
    assert!(
        body.starts_with("# Write a zot extension"),
        "only the body is returned"
    );
    let text = fixture.err("skill", json!({"name": "cook"})).await;
    assert_eq!(text, "unknown skill `cook`; available: write-zot-extension");
    let spec = fixture.toolbox.specs().pop().unwrap();
    assert_eq!(
        spec.schema["properties"]["name"]["enum"],
        json!(["write-zot-extension"])
    );
}

#[tokio::test]
async fn the_first_skill_of_a_name_wins_and_can_replace_a_built_in_one() {
    let places = Places::new();
    let project = places.project();
    let folders = [
        project.join(".zot/skills"),
        places.home.path().join("skills"),
        project.join(".claude/skills"),
        project.join(".agents/skills"),
    ];
    for (index, folder) in folders.iter().enumerate() {
        // Each folder also has the skills of all later folders.
        for name in index..folders.len() {
            let name = format!("skill-{name}");
            put(
                folder,
                &name,
                &skill(&name, &format!("from {index}"), "body"),
            );
        }
    }
    put(
        &folders[3],
        "own",
        &skill("write-zot-extension", "ours", "ours"),
    );
    let skills = places.find();
    assert_eq!(skills.warnings(), Vec::<String>::new());
    for name in 0..folders.len() {
        let found = skills.get(&format!("skill-{name}")).unwrap();
        assert_eq!(found.description, "from 0");
        assert_eq!(found.folder(), Some(folders[0].join(&found.name)));
    }
    assert_eq!(
        skills.get("write-zot-extension").unwrap().description,
        "ours"
    );
    assert_eq!(skills.iter().count(), 5);
}

#[tokio::test]
async fn a_skill_is_read_on_demand_and_names_its_directory() {
    let places = Places::new();
    let folder = places.home.path().join("skills");
    put(
        &folder,
        "tea",
        &skill("tea", ">\n  How to\n  make tea", "Boil water."),
    );
    fs::write(folder.join("tea/pot.txt"), "pot").unwrap();
    let skills = places.find();
    assert_eq!(skills.get("tea").unwrap().description, "How to make tea");
    let fixture = ToolFixture::set_up(|config| {
        config.skills = skills;
        config.jail = true;
    });
    let folder = folder.join("tea");
    let body = fixture.ok("skill", json!({"name": "tea"})).await;
    assert_eq!(
        body,
        format!(
            "Boil water.\n\n(this skill's files are in {})\n",
            folder.display()
        )
    );
    // The skill's directory is readable in the jail too.
    let pot = folder.join("pot.txt").display().to_string();
    has(&fixture.read(&pot).await, "pot");
    put(
        folder.parent().unwrap(),
        "tea",
        &skill("tea", "x", "Boil milk."),
    );
    has(
        &fixture.ok("skill", json!({"name": "tea"})).await,
        "Boil milk.",
    );
    fs::remove_file(folder.join("SKILL.md")).unwrap();
    has(
        &fixture.err("skill", json!({"name": "tea"})).await,
        "cannot read skill `tea`: ",
    );
}

#[tokio::test]
async fn invalid_skills_are_reported_and_the_others_load() {
    let places = Places::new();
    let folder = places.project().join(".zot/skills");
    put(&folder, "good", &skill("good", "good", ""));
    put(&folder, "headless", "# Skill\n");
    put(&folder, "nameless", "---\ndescription: x\n---\n");
    put(&folder, "wordless", "---\nname: wordless\n---\n");
    put(&folder, "endless", "---\nname: endless\n");
    put(&folder, "wordy", &skill("wordy", &"x".repeat(2000), ""));
    put(&folder, "spaced", &skill("a b", "x", ""));
    put(
        &folder,
        "large",
        &skill("large", "x", &"x".repeat(70 << 10)),
    );
    fs::create_dir(folder.join("empty")).unwrap();
    fs::write(folder.join("README.md"), "").unwrap();
    fs::write(
        places.folder.path().join("secret"),
        skill("secret", "x", "x"),
    )
    .unwrap();
    fs::create_dir(folder.join("link")).unwrap();
    symlink("../../../../secret", folder.join("link/SKILL.md")).unwrap();
    fs::create_dir(folder.join("fifo")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("fifo/SKILL.md"), 0o600.into()).unwrap();
    let skills = places.find();
    let names: Vec<_> = skills.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["good", "write-zot-extension"]);
    let warnings = skills.warnings();
    for (warning, (name, why)) in warnings.iter().zip([
        ("empty", "No such file"),
        ("endless", "missing `---` after the front matter"),
        ("fifo", "not a regular file"),
        ("headless", "missing `---` on the first line"),
        ("large", "larger than 64 KiB"),
        ("link", "symlink leads out of the project"),
        ("nameless", "missing `name`"),
        ("spaced", "whitespace"),
        ("wordless", "missing `description`"),
        ("wordy", "longer than 1024 characters"),
    ]) {
        has(warning, &format!("/.zot/skills/{name}/SKILL.md`: "));
        has(warning, why);
    }
    assert_eq!(warnings.len(), 10, "{warnings:?}");
}
