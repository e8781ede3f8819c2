//! The reference of the scenario language, generated from the tables of keys.

use std::fmt::Write as _;

use crate::keys::{self, Fallback, Key, Kind, Target};

/// Every key of a scenario file with kind, default and meaning, as Markdown.
///
/// The parameters of AQMs and congestion controls are not in it: `ackclock list` shows them.
#[must_use]
pub fn reference() -> String {
    let mut out = String::new();
    for section in keys::SECTIONS {
        let header = if section.repeated {
            format!("[[{}]]", section.name)
        } else {
            format!("[{}]", section.name)
        };
        table(&mut out, &format!("`{header}`"), section.doc, section.keys);
        match section.name {
            "link" => {
                for (title, section) in [
                    ("`queue = { ... }`", keys::QUEUE),
                    (
                        "`queue = { scheduler = \"htb\", classes = [ ... ] }`",
                        keys::TREE,
                    ),
                    ("`classes = [ { ... } ]`", keys::CLASS),
                    ("`rate = { ... }`", keys::TRACE),
                    ("`jitter = { ... }`", keys::JITTER),
                ] {
                    table(&mut out, title, section.doc, section.keys);
                }
            }
            "flows" => traffic(&mut out),
            "change" => changeable(&mut out),
            "parking_lot" => table(
                &mut out,
                "`reverse = { ... }`",
                keys::REVERSE.doc,
                keys::REVERSE.keys,
            ),
            _ => {}
        }
    }
    out
}

fn table(out: &mut String, title: &str, doc: &str, keys: &[Key]) {
    let _ = write!(
        out,
        "### {title}\n\n{doc}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
    );
    for key in keys {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            key.name,
            value(key),
            default(key),
            key.doc
        );
    }
    out.push('\n');
}

/// Returns the kind of value, briefly.
fn value(key: &Key) -> String {
    let kind = match key.kind {
        Kind::Text => "text".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Integer(..) => "whole number".to_owned(),
        Kind::ClassScheduler => "scheduler with classes".to_owned(),
        Kind::Classes => "list of classes".to_owned(),
        Kind::Names => "list of names".to_owned(),
        Kind::CodePoints(_) => "list of code points, as `dscp` of `[[flows]]` has them".to_owned(),
        Kind::Time => "time".to_owned(),
        Kind::Span => "time above zero".to_owned(),
        Kind::Rate => "rate".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Packets | Kind::WholePackets => "packets".to_owned(),
        Kind::Capacity => "packets, size, time or `\"unlimited\"`".to_owned(),
        Kind::Distribution => "distribution of times".to_owned(),
        Kind::Window => "`\"A .. B\"`".to_owned(),
        Kind::Choice(choices) => {
            let names: Vec<_> = choices
                .iter()
                .map(|(name, meaning)| format!("`\"{name}\"`: {meaning}"))
                .collect();
            names.join("; ")
        }
        Kind::Path => "names of links".to_owned(),
        Kind::Name => "name".to_owned(),
        Kind::Reverse => "table".to_owned(),
        Kind::Sizes => "sizes".to_owned(),
        Kind::Frequency => "number a second".to_owned(),
        Kind::Share => "number above zero".to_owned(),
        Kind::Queue | Kind::Congestion | Kind::Traffic | Kind::Scheduler | Kind::Service => {
            "name or table".to_owned()
        }
        Kind::Autorate => {
            "table of `probes` (a class of flows), `min`, `max` and parameters of the law"
                .to_owned()
        }
        Kind::Stalls => "table of `interval`, `shortest` and `longest`".to_owned(),
        Kind::RateOrTrace => "rate or table".to_owned(),
        Kind::Loss => "probability or table".to_owned(),
        Kind::Jitter => "distribution of times or table".to_owned(),
        Kind::Shaper => {
            "table of `rate`, `burst` and `discipline`: `\"tbf\"` or `\"htb\"`".to_owned()
        }
        Kind::Policer => "table of `rate` and `burst`".to_owned(),
        Kind::Steps => "pairs of time and rate".to_owned(),
    };
    match key.word {
        Some((word, meaning)) => format!("{kind}, or `\"{word}\"`: {meaning}"),
        None => kind,
    }
}

fn default(key: &Key) -> String {
    match key.default {
        Fallback::Required => "must be given".to_owned(),
        Fallback::Text(text) => format!("`\"{text}\"`"),
        Fallback::Flag(flag) => format!("`{flag}`"),
        Fallback::Integer(number) => format!("`{number}`"),
        Fallback::Derived(rule) => rule.to_owned(),
    }
}

fn traffic(out: &mut String) {
    out.push_str(
        "### `traffic = { kind = ..., ... }`\n\n| kind | keys | meaning |\n|---|---|---|\n",
    );
    for kind in keys::TRAFFIC {
        let describe = |key: &Key| {
            format!(
                "`{}` ({}, {}): {}",
                key.name,
                value(key),
                default(key),
                key.doc
            )
        };
        let keys: Vec<_> = kind.keys.iter().map(describe).collect();
        let _ = writeln!(
            out,
            "| `\"{}\"` | {} | {} |",
            kind.kind,
            keys.join(" "),
            kind.doc
        );
    }
    out.push('\n');
}

fn changeable(out: &mut String) {
    let names = |table: Target| {
        let names: Vec<_> = table.keys().map(|key| format!("`{}`", key.name)).collect();
        names.join(", ")
    };
    let _ = write!(
        out,
        "Beside these keys stand the new values: of a link {}, {} and the numeric parameters of its AQM, directly or in `queue = {{ ... }}`; \
         of a class {}, and the `rate` (or `density`, or `load`) of its traffic.\n\n",
        names(Target::Link),
        names(Target::Queue),
        names(Target::Class),
    );
}
