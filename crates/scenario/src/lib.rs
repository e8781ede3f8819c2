//! The one description of a world that every engine reads: links with their queues, flows with
//! their traffic, what changes and when.
//!
//! [`parse`] reads a scenario file (TOML), [`parse_json`] the same tree as JSON; both give a
//! [`Scenario`] in SI units with every default filled in, or a list of [`Diagnostic`]s that say
//! where each mistake is, what was found and what is allowed. [`to_json`] and [`canonical_toml`]
//! write a scenario back, [`json_schema`] describes the files to editors. The keys themselves are
//! declared once, in [`keys`]; the parameters of algorithms come from
//! [`ackclock_algorithms::registry`].

mod diagnostic;
mod form;
mod key;
pub mod keys;
mod model;
mod options;
mod read;
mod reader;
mod reference;
mod schema;
mod sizes;
mod topology;
mod trace;
mod tree;
pub mod units;
mod value;
mod write;
mod written;

pub use diagnostic::Diagnostic;
pub use model::{
    Autorate, Capacity, Change, ClassId, Distribution, End, FlowClass, Jitter, Link, LinkId, Queue,
    Scenario, Setting, SharedTree, Tcp, Traffic, Tree, TreeClass,
};
pub use options::*;
pub use reference::reference;
pub use schema::json_schema;
pub use sizes::Sizes;
pub use trace::RateTrace;
pub use tree::{Files, MAX_BYTES};

/// Reads a scenario file (TOML). `origin` is its name in messages.
///
/// ```
/// let text = r#"
/// [scenario]
/// duration = "10 s"
///
/// [[link]]
/// name = "home"
/// rate = "20 Mbit/s"
/// dealy = "5 ms"
///
/// [[flows]]
/// path = ["home"]
/// rtt = "30 ms"
/// "#;
/// let errors = ackclock_scenario::parse(text, "home.toml").unwrap_err();
/// assert!(errors[0].to_string().starts_with(r#"home.toml:8:1: link[0].dealy: unknown key; did you mean "delay"?"#));
///
/// let scenario = ackclock_scenario::parse(text.replace("dealy", "delay"), "home.toml").unwrap();
/// assert_eq!(scenario.links[0].rate, 20e6);
/// ```
///
/// # Errors
/// Every mistake found, in the order of the file. Nothing that a file contains makes this panic.
pub fn parse(text: impl AsRef<[u8]>, origin: &str) -> Result<Scenario, Vec<Diagnostic>> {
    parse_with(text, origin, &no_files)
}

fn no_files(_path: &str) -> Result<String, String> {
    Err("files cannot be read here; give the steps instead".to_owned())
}

/// As [`parse`], with `files` to read what the scenario refers to.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    text: impl AsRef<[u8]>,
    origin: &str,
    files: Files<'_>,
) -> Result<Scenario, Vec<Diagnostic>> {
    let text = tree::decode(text.as_ref(), origin)?;
    let source = tree::Source::new(origin, text);
    let root = tree::from_toml(&source)?;
    read::scenario(&root, &source, files)
}

/// Reads a scenario from JSON with the keys of the file format. `origin` is its name in messages,
/// which give the path of keys instead of line and column.
///
/// # Errors
/// As [`parse`].
pub fn parse_json(text: impl AsRef<[u8]>, origin: &str) -> Result<Scenario, Vec<Diagnostic>> {
    parse_json_with(text, origin, &no_files)
}

/// As [`parse_json`], with `files` to read what the scenario refers to.
///
/// # Errors
/// As [`parse`].
pub fn parse_json_with(
    text: impl AsRef<[u8]>,
    origin: &str,
    files: Files<'_>,
) -> Result<Scenario, Vec<Diagnostic>> {
    let text = tree::decode(text.as_ref(), origin)?;
    let root = tree::from_json(text, origin)?;
    read::scenario(&root, &tree::Source::new(origin, ""), files)
}

/// Returns the contents of a scenario file (TOML) as JSON: the keys that are given, in their order,
/// unchecked.
///
/// # Errors
/// If `text` is not TOML. `origin` is its name in messages.
pub fn toml_to_json(text: &str, origin: &str) -> Result<String, Vec<Diagnostic>> {
    let text = tree::decode(text.as_bytes(), origin)?;
    let root = tree::from_toml(&tree::Source::new(origin, text))?;
    Ok(serde_json::to_string(&root).unwrap_or_default())
}

/// The whole scenario with every default filled in, as JSON that [`parse_json`] reads back: the
/// same bytes for the same scenario.
///
/// Topology templates appear as the links that they stand for. A user's own congestion control or
/// AQM appears by its name alone.
#[must_use]
pub fn to_json(scenario: &Scenario) -> String {
    // a tree of text, flags and finite numbers cannot fail to serialise
    serde_json::to_string_pretty(&write::scenario(scenario)).unwrap_or_default()
}

/// As [`to_json`], in the form of a scenario file.
#[must_use]
pub fn canonical_toml(scenario: &Scenario) -> String {
    tree::to_toml(&write::scenario(scenario))
}
