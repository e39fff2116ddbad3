//! What must hold of the repository and of the programs as files.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test fail by panicking, like the test itself"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use placard_tests::{binary, repository};
use pretty_assertions::assert_eq;

/// The libraries that a program needs at its start, however deep, by name without version.
fn shared_libraries(program: &Path) -> BTreeSet<String> {
    let output = Command::new("ldd").arg(program).output().expect("ldd runs");
    assert!(
        output.status.success(),
        "ldd {} failed: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            Path::new(line.split_whitespace().next()?)
                .file_name()?
                .to_str()
        })
        .map(|name| name.split(".so").next().unwrap_or(name).to_owned())
        .collect()
}

#[test]
fn the_headless_program_needs_the_c_library_only() {
    let of_the_system = [
        "linux-vdso",
        "ld-linux-x86-64",
        "ld-linux-aarch64",
        "libc",
        "libm",
        "libgcc_s",
        "libdl",
        "libpthread",
        "librt",
    ];
    let others: Vec<String> = shared_libraries(&binary("placard"))
        .into_iter()
        .filter(|name| !of_the_system.contains(&name.as_str()))
        .collect();
    assert_eq!(others, Vec::<String>::new());
}

/// That the check above would see a window toolkit: the desktop program has one.
#[test]
fn the_desktop_program_shows_its_toolkit_to_the_same_check() {
    assert!(shared_libraries(&binary("placard-desktop")).contains("libwebkit2gtk-4.1"));
}

/// The targets of a Markdown text's links outside code, without title and fragment.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        // Every second piece between backticks is code.
        for prose in line.split('`').step_by(2) {
            for link in prose.split("](").skip(1) {
                let target = link.split([')', ' ', '#']).next().unwrap_or_default();
                found.push(target.to_owned());
            }
        }
    }
    found
}

#[test]
fn links_are_found_outside_code_only() {
    let text = "See [a](docs/a.md#part) and [b](b.md \"title\"), not `[c](c.md)`.\n```\n[d](d.md)\n```\n[e](#here)";
    assert_eq!(links(text), ["docs/a.md", "b.md", ""]);
}

#[test]
fn every_relative_link_of_the_documents_leads_to_a_file() {
    let root = repository();
    let listed = Command::new("git")
        .args(["ls-files", "-z", "*.md"])
        .current_dir(&root)
        .output()
        .expect("git runs");
    assert!(
        listed.status.success(),
        "git ls-files failed: {}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let documents: Vec<PathBuf> = String::from_utf8_lossy(&listed.stdout)
        .split_terminator('\0')
        .map(|name| root.join(name))
        .collect();
    assert!(
        !documents.is_empty(),
        "no document is tracked in {}",
        root.display()
    );
    let mut broken = Vec::new();
    // One that was removed and not committed yet has no links.
    for document in documents.iter().filter(|document| document.exists()) {
        let text = std::fs::read_to_string(document).expect("a document is UTF-8 text");
        let folder = document.parent().expect("a file lies in a folder");
        for link in links(&text) {
            let elsewhere = link.contains("://") || link.starts_with("mailto:");
            if !elsewhere && !folder.join(&link).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
