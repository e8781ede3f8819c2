//! Traffic of a class of flows.

use super::{Item, Place, Reader, Table, join};
use crate::diagnostic::quoted_list;
use crate::keys::{self, Bottleneck, Traffic};
use crate::tree::Value;
use crate::units::shorten;

/// Names of traffic elsewhere, and of its kind here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("udp", "cbr"),
    ("tcp", "bulk"),
    ("file", "transfer"),
    ("ftp", "transfer"),
    ("web", "http"),
    ("voice", "cbr"),
    ("voip", "cbr"),
    ("call", "cbr"),
    ("video", "app-limited"),
];

impl Reader<'_> {
    /// `traffic = "bulk"` or `{ kind = "transfer", ... }`.
    pub(crate) fn traffic(&self, item: &Item<'_>, path: &Bottleneck) -> Option<Traffic> {
        let kind = self.kind_of_traffic(item)?;
        let inner = match &item.node.value {
            Value::Table(_) => self.table(&item.node, item.place.clone(), kind.keys, &["kind"])?,
            _ => Table {
                place: item.place.clone(),
                entries: &[],
                keys: kind.keys,
            },
        };
        Traffic::read(self, kind, &inner, path)
    }

    fn kind_of_traffic(&self, item: &Item<'_>) -> Option<&'static keys::TrafficKind> {
        let kinds: Vec<&str> = keys::TRAFFIC.iter().map(|kind| kind.kind).collect();
        let (kind, kind_place) = match &item.node.value {
            Value::Text(text) => (text.as_str(), item.place.clone()),
            Value::Table(entries) => match entries.iter().find(|(name, _)| name.text == "kind") {
                Some((_, node)) => {
                    let place = Place {
                        key: join(&item.place.key, "kind"),
                        span: node.span.clone(),
                    };
                    let Value::Text(text) = &node.value else {
                        self.push(&place, "the wrong kind of value", |diagnostic| {
                            diagnostic.found = Some(node.describe());
                            diagnostic.allowed = Some(quoted_list(kinds.iter().copied()));
                        });
                        return None;
                    };
                    (text.as_str(), place)
                }
                None => {
                    self.missing(&item.place, "kind", quoted_list(kinds.iter().copied()));
                    return None;
                }
            },
            _ => {
                self.wrong_kind(item);
                return None;
            }
        };
        let known_kind = keys::TRAFFIC.iter().find(|known| known.kind == kind);
        if known_kind.is_none() {
            let other = OTHER_NAMES.iter().find(|(name, _)| *name == kind);
            self.unknown_name(
                &kind_place,
                format!("there is no traffic \"{}\"", shorten(kind)),
                other.map_or(kind, |(_, known)| known),
                &kinds,
            );
        }
        known_kind
    }
}
