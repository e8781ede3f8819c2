//! Diagnostics: what is wrong with a scenario, and where.

use std::fmt;

/// One mistake in a scenario: where it is, what was found, what is allowed.
///
/// Printed as `home.toml:12:8: link[0].queue.max_probabilty: unknown key; did you mean
/// "max_probability"? allowed: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file, or of whatever else the text came from.
    pub file: String,
    /// Line and column, counted from 1 (columns in characters); `None` for JSON trees, where
    /// [`Diagnostic::key`] alone tells the place.
    pub position: Option<(u32, u32)>,
    /// Path of keys, such as `link[0].queue.capacity`; empty when the whole text is meant.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The value as written.
    pub found: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
    /// The values that may stand there.
    pub allowed: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(text) = &self.found {
            write!(f, ", found {text}")?;
        }
        match (&self.suggestion, &self.allowed) {
            (Some(name), Some(allowed)) => {
                write!(f, "; did you mean \"{name}\"? allowed: {allowed}")
            }
            (Some(name), None) => write!(f, "; did you mean \"{name}\"?"),
            (None, Some(allowed)) => write!(f, "; allowed: {allowed}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// The name among `names` that `word` was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 100 {
        return None;
    }
    let normal = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let word = normal(word);
    names
        .into_iter()
        .take(2000) // enough for people, and a bound for files that no one wrote by hand
        .map(|name| (strsim::damerau_levenshtein(&word, &normal(name)), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| {
            // of four letters two make another word: "rate" is no "name"
            *distance <= 1 + word.len().max(name.len()).saturating_sub(1) / 4
                && *distance < name.len()
        })
        .map(|(_, name)| name)
}

/// The name here of a plain queue that has others elsewhere; any other word as it is.
pub(crate) fn usual(kind: &str) -> &str {
    match kind {
        "fifo" | "pfifo" | "bfifo" | "pfifo_fast" | "taildrop" | "tail-drop" => "drop-tail",
        _ => kind,
    }
}

/// `"a", "b", "c"`, for messages; long lists are cut.
pub(crate) fn quoted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MAX_QUOTED: usize = 40;
    let mut names = names.into_iter();
    let mut list: Vec<_> = names
        .by_ref()
        .take(MAX_QUOTED)
        .map(|name| format!("\"{name}\""))
        .collect();
    match names.count() {
        0 => {}
        more => list.push(format!("and {more} more")),
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_with_place_and_remedy() {
        let diagnostic = Diagnostic {
            file: "home.toml".into(),
            position: Some((12, 8)),
            key: "link[0].queue.max_probabilty".into(),
            problem: "unknown key".into(),
            found: None,
            suggestion: Some("max_probability".into()),
            allowed: Some("aqm, capacity".into()),
        };
        assert_eq!(
            diagnostic.to_string(),
            "home.toml:12:8: link[0].queue.max_probabilty: unknown key; did you mean \"max_probability\"? allowed: aqm, capacity"
        );
    }

    #[test]
    fn only_near_names_are_offered() {
        assert_eq!(nearest("dealy", ["rate", "delay"]), Some("delay"));
        assert_eq!(
            nearest("Drop Tail", ["drop-tail", "red"]),
            Some("drop-tail")
        );
        assert_eq!(nearest("colour", ["rate", "delay"]), None);
        assert_eq!(nearest("rate", ["name", "delay"]), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
