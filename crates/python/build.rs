//! Revision, compiler and machine of a build, for `ackclock --version`.

use std::path::Path;
use std::process::Command;

fn main() {
    let output = |program: &str, words: &[&str]| {
        let finished = Command::new(program).args(words).output().ok()?;
        let text = String::from_utf8(finished.stdout).ok()?;
        (finished.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    let revision = if Path::new("../../.git").exists() {
        for part in ["HEAD", "logs/HEAD"] {
            println!("cargo::rerun-if-changed=../../.git/{part}");
        }
        output("git", &["describe", "--always", "--dirty", "--exclude=*"])
    } else {
        println!("cargo::rerun-if-changed=build.rs");
        None // a source archive: the version says all
    };
    let rustc = std::env::var("RUSTC").unwrap_or_default();
    let rustc = output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned());
    let target = std::env::var("TARGET").unwrap_or_default();
    println!(
        "cargo::rustc-env=ACKCLOCK_REVISION={}",
        revision.as_deref().unwrap_or("release")
    );
    println!("cargo::rustc-env=ACKCLOCK_RUSTC={rustc}");
    println!("cargo::rustc-env=ACKCLOCK_TARGET={target}");
}
