//! The one tree that TOML and JSON are read into and written from.

use std::fmt::{self, Write as _};
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::diagnostic::Diagnostic;
use crate::units::shorten;

/// The largest text that is read. A scenario is a page long; anything of this size is some other
/// file.
pub const MAX_BYTES: usize = 16 << 20;

/// Reads a file that a scenario names (a rate trace): its path as the scenario gives it; the text,
/// or why there is none.
pub type Files<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// Byte range in the text; `None` in JSON trees and for defaults.
    pub(crate) span: Option<Range<usize>>,
}

/// A key of a table, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Option<Range<usize>>,
}

/// Value of a node, common to both formats.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Flag(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Vec<(Name, Node)>),
    /// JSON's null, a TOML date, an integer beyond 64 bits: what no key allows, as written.
    Other(String),
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, span: None }
    }
}

impl Node {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Value::Text(text.into()).into()
    }

    pub(crate) fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let entries = entries.into_iter().map(|(text, node)| {
            (
                Name {
                    text: text.to_owned(),
                    span: None,
                },
                node,
            )
        });
        Value::Table(entries.collect()).into()
    }

    /// The value as a reader would recognise it, for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Flag(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => format!("\"{}\"", shorten(text)),
            Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Other(text) => shorten(text),
        }
    }
}

/// A text and its name, to turn byte offsets into lines and columns.
pub(crate) struct Source<'a> {
    pub(crate) origin: &'a str,
    /// Empty for JSON, whose trees carry no positions.
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(origin: &'a str, text: &'a str) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            origin,
            text,
            line_starts,
        }
    }

    pub(crate) fn position(&self, offset: usize) -> (u32, u32) {
        let line = self
            .line_starts
            .partition_point(|start| *start <= offset)
            .max(1);
        let start = self.line_starts[line - 1];
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count())
            + 1;
        (
            u32::try_from(line).unwrap_or(u32::MAX),
            u32::try_from(column).unwrap_or(u32::MAX),
        )
    }

    pub(crate) fn diagnostic(
        &self,
        span: Option<&Range<usize>>,
        key: &str,
        problem: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            file: self.origin.to_owned(),
            position: span.map(|span| self.position(span.start)),
            key: key.to_owned(),
            problem: problem.into(),
            found: None,
            suggestion: None,
            allowed: None,
        }
    }
}

/// First bytes of pcap files (seconds with micro- and nanoseconds, either byte order) and of pcapng files.
const CAPTURES: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// Refuses what cannot be a scenario at all.
pub(crate) fn decode<'a>(bytes: &'a [u8], origin: &str) -> Result<&'a str, Vec<Diagnostic>> {
    let source = Source::new(origin, "");
    if bytes.len() > MAX_BYTES {
        let mut error = source.diagnostic(None, "", "the file is too large to be a scenario");
        error.position = Some((1, 1));
        error.found = Some(format!("{} bytes", bytes.len()));
        error.allowed = Some(format!("at most {MAX_BYTES} bytes (16 MiB)"));
        return Err(vec![error]);
    }
    if CAPTURES.iter().any(|magic| bytes.starts_with(magic)) {
        let mut error = source.diagnostic(None, "", "a capture of packets, not a scenario");
        error.position = Some((1, 1));
        error.allowed = Some(
            "a scenario that describes the link and its traffic, or \
             `ackclock why --rate 50mbit --rtt 40ms --buffer 250ms` with what the capture shows"
                .to_owned(),
        );
        return Err(vec![error]);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = good.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let mut diagnostic = source.diagnostic(None, "", "the file is not UTF-8 text");
        diagnostic.position = Some((line as u32, column as u32));
        diagnostic.found = bytes
            .get(error.valid_up_to())
            .map(|byte| format!("byte 0x{byte:02x}"));
        vec![diagnostic]
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        let mut error = source.diagnostic(None, "", "the file is empty");
        error.position = Some((1, 1));
        error.allowed = Some("a scenario with [scenario], [[link]] and [[flows]]".to_owned());
        return Err(vec![error]);
    }
    Ok(text)
}

/// Reads TOML.
pub(crate) fn from_toml(source: &Source<'_>) -> Result<Node, Vec<Diagnostic>> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(source.text);
    if errors.is_empty() {
        let span = table.span();
        return Ok(toml_node(
            span,
            toml::de::DeValue::Table(table.into_inner()),
        ));
    }
    // what follows the first few syntax errors is mostly their echo
    let report = |error: toml::de::Error| {
        source.diagnostic(
            error.span().as_ref(),
            "",
            format!("not TOML: {}", error.message().trim()),
        )
    };
    Err(errors.into_iter().take(5).map(report).collect())
}

fn toml_node(span: Range<usize>, value: toml::de::DeValue<'_>) -> Node {
    use toml::de::DeValue;
    let value = match value {
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Other(number.to_string()), Value::Integer),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or_else(|_| Value::Other(number.to_string()), Value::Float),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
        DeValue::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| toml_node(item.span(), item.into_inner()))
                .collect(),
        ),
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table
                .into_iter()
                .map(|(key, item)| {
                    let name = Name {
                        span: Some(key.span()),
                        text: key.into_inner().into_owned(),
                    };
                    (name, toml_node(item.span(), item.into_inner()))
                })
                .collect();
            entries.sort_by_key(|(name, _)| name.span.as_ref().map(|span| span.start));
            Value::Table(entries)
        }
    };
    Node {
        value,
        span: Some(span),
    }
}

/// Reads JSON.
pub(crate) fn from_json(text: &str, origin: &str) -> Result<Node, Vec<Diagnostic>> {
    serde_json::from_str(text).map_err(|error| {
        let mut diagnostic =
            Source::new(origin, "").diagnostic(None, "", format!("not JSON: {error}"));
        diagnostic.position = Some((error.line() as u32, error.column() as u32));
        vec![diagnostic]
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Value::Flag(flag).into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Value::Integer(number).into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(i64::try_from(number)
            .map_or_else(|_| Value::Other(number.to_string()), Value::Integer)
            .into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Value::Float(number).into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::text(text))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Value::Other("null".to_owned()).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut table: Vec<(Name, Node)> = Vec::new();
        let mut observed = std::collections::HashSet::new();
        while let Some((text, node)) = entries.next_entry::<String, Node>()? {
            if !observed.insert(text.clone()) {
                return Err(de::Error::custom(format!(
                    "duplicate key \"{}\"",
                    shorten(&text)
                )));
            }
            table.push((Name { text, span: None }, node));
        }
        Ok(Value::Table(table).into())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Other(_) => serializer.serialize_unit(),
            Value::Array(items) => {
                let mut array = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    array.serialize_element(item)?;
                }
                array.end()
            }
            Value::Table(entries) => {
                let mut table = serializer.serialize_map(Some(entries.len()))?;
                for (name, node) in entries {
                    table.serialize_entry(&name.text, node)?;
                }
                table.end()
            }
        }
    }
}

/// Writes a scenario's tree as TOML: tables of the top level as sections, everything below on one
/// line.
pub(crate) fn to_toml(root: &Node) -> String {
    let mut out = String::new();
    let Value::Table(sections) = &root.value else {
        return out;
    };
    for (name, section) in sections {
        match &section.value {
            Value::Table(entries) => {
                toml_section(&mut out, &format!("[{}]", toml_key(&name.text)), entries);
            }
            Value::Array(items) => {
                for item in items {
                    if let Value::Table(entries) = &item.value {
                        toml_section(&mut out, &format!("[[{}]]", toml_key(&name.text)), entries);
                    }
                }
            }
            _ => {}
        }
    }
    out
}

fn toml_section(out: &mut String, header: &str, entries: &[(Name, Node)]) {
    if !out.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{header}");
    for (name, node) in entries {
        let _ = write!(out, "{} = ", toml_key(&name.text));
        toml_value(out, node);
        out.push('\n');
    }
}

fn toml_key(name: &str) -> String {
    if !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    {
        name.to_owned()
    } else {
        toml_string(name)
    }
}

fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn toml_value(out: &mut String, node: &Node) {
    match &node.value {
        Value::Flag(flag) => {
            let _ = write!(out, "{flag}");
        }
        Value::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => {
            let _ = write!(out, "{number:?}");
        }
        Value::Text(text) | Value::Other(text) => out.push_str(&toml_string(text)),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                toml_value(out, item);
            }
            out.push(']');
        }
        Value::Table(entries) => {
            out.push_str("{ ");
            for (at, (name, item)) in entries.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                let _ = write!(out, "{} = ", toml_key(&name.text));
                toml_value(out, item);
            }
            out.push_str(" }");
        }
    }
}
