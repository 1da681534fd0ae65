use std::{fs, os::unix::fs::symlink};

use zot_host::{context_files, home::Home};

use super::has;

#[test]
fn context_files_are_ordered_from_outermost_to_closest() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let repository = folder.path().join("repository");
    let cwd = repository.join("a/b");
    fs::create_dir_all(&cwd).unwrap();
    fs::create_dir(home.path()).unwrap();
    let files = [
        home.path().join("SYSTEM.md"),
        repository.join("AGENTS.md"),
        cwd.join("AGENTS.md"),
    ];
    for (number, file) in files.iter().enumerate() {
        fs::write(file, format!("{number}")).unwrap();
    }
    fs::write(folder.path().join("AGENTS.md"), "somebody else's").unwrap();
    fs::write(repository.join("a/AGENTS.md"), " \n").unwrap();
    // In a worktree, `.git` is a file.
    fs::write(repository.join(".git"), "gitdir: elsewhere").unwrap();
    let found = context_files::find(&cwd, &home);
    assert_eq!(found.warnings, Vec::<String>::new());
    let seen: Vec<_> = found
        .files
        .iter()
        .map(|file| (file.path.clone(), file.text.as_str()))
        .collect();
    let expected: Vec<_> = files.into_iter().zip(["0", "1", "2"]).collect();
    assert_eq!(seen, expected);
    assert_eq!(context_files::repository(&cwd), Some(repository.as_path()));

    // Without a repository, only the working directory is searched.
    fs::remove_file(repository.join(".git")).unwrap();
    let found = context_files::find(&cwd, &home);
    let texts: Vec<_> = found.files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts, ["0", "2"]);
}

#[test]
fn oversized_external_and_special_context_files_cause_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let cwd = folder.path().join("repository/a/b");
    fs::create_dir_all(cwd.join("../../.git")).unwrap();
    fs::write(folder.path().join("key"), "SECRET").unwrap();
    symlink("../../../key", cwd.join("AGENTS.md")).unwrap();
    fs::write(cwd.join("../AGENTS.md"), "ä".repeat(40_000)).unwrap();
    let fifo = cwd.join("../../AGENTS.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, 0o600.into()).unwrap();
    let found = context_files::find(&cwd, &home);
    assert_eq!(found.files.len(), 1);
    assert!(found.files[0].text.len() < 66 << 10);
    has(&found.files[0].text, "ää\n[… truncated after 64 KiB]");
    let warnings = &found.warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    has(&warnings[0], "/repository/AGENTS.md`: not a regular file");
    has(&warnings[1], "longer than 64 KiB");
    has(&warnings[2], "leads out of the project");

    // A symlink within the repository is followed.
    fs::remove_file(cwd.join("AGENTS.md")).unwrap();
    fs::write(cwd.join("../../CLAUDE.md"), "ours").unwrap();
    symlink("../../CLAUDE.md", cwd.join("AGENTS.md")).unwrap();
    assert_eq!(context_files::find(&cwd, &home).files[1].text, "ours");
}

#[test]
fn claude_md_is_read_only_where_agents_md_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let repository = folder.path().join("repository");
    let cwd = repository.join("inner");
    fs::create_dir_all(&cwd).unwrap();
    fs::create_dir(repository.join(".git")).unwrap();
    for (file, text) in [
        (repository.join("CLAUDE.md"), "outer CLAUDE"),
        (cwd.join("AGENTS.md"), "inner AGENTS"),
        (cwd.join("CLAUDE.md"), "inner CLAUDE"),
    ] {
        fs::write(file, text).unwrap();
    }
    let found = context_files::find(&cwd, &home);
    let texts: Vec<_> = found.files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts, ["outer CLAUDE", "inner AGENTS"]);
}
