//! Traffic of a class of flows.

use super::{Item, Place, Reader, Table, join};
use crate::diagnostic::quoted_list;
use crate::keys;
use crate::model::Traffic;
use crate::options::PacketSizes;
use crate::tree::Value;
use crate::units::shorten;

impl Reader<'_> {
    /// `traffic = "bulk"` or `{ kind = "transfer", ... }`.
    ///
    /// `slowest` is the rate of the slowest link of the path, `count` the number of flows.
    pub(super) fn traffic(
        &self,
        table: &Table<'_>,
        slowest: Option<f64>,
        count: Option<u32>,
    ) -> Option<Traffic> {
        let item = self.item(table, "traffic")?;
        let kind = self.kind_of_traffic(&item)?;
        let inner = match &item.node.value {
            Value::Table(_) => self.table(&item.node, item.place.clone(), kind.keys, &["kind"])?,
            _ => Table {
                place: item.place.clone(),
                entries: &[],
                keys: kind.keys,
            },
        };
        self.traffic_of(kind, &inner, slowest, count)
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
        let found = keys::TRAFFIC.iter().find(|known| known.kind == kind);
        if found.is_none() {
            self.unknown_name(
                &kind_place,
                format!("there is no traffic \"{}\"", shorten(kind)),
                kind,
                &kinds,
            );
        }
        found
    }

    /// Reads a kind's own keys.
    fn traffic_of(
        &self,
        kind: &keys::TrafficKind,
        inner: &Table<'_>,
        slowest: Option<f64>,
        count: Option<u32>,
    ) -> Option<Traffic> {
        let rate = || self.item(inner, "rate").and_then(|item| self.rate(&item));
        let sizes = || self.item(inner, "size").and_then(|item| self.sizes(&item));
        let mean = |key: &str| self.item(inner, key).and_then(|item| self.seconds(&item));
        match kind.kind {
            "bulk" => Some(Traffic::Bulk),
            "transfer" => {
                let bytes = self
                    .item(inner, "size")
                    .and_then(|item| self.size(&item, u64::MAX))?;
                Some(Traffic::Transfer { bytes })
            }
            "app-limited" => rate().map(|rate| Traffic::AppLimited { rate }),
            "cbr" => rate().map(|rate| Traffic::Cbr { rate }),
            "on-off" => {
                let rate = self.rate_or_share(
                    inner,
                    "density",
                    |item| self.rate(item),
                    |density| Some(density * slowest? / f64::from(count?.max(1))),
                );
                let (on, off) = (mean("on"), mean("off"));
                Some(Traffic::OnOff {
                    rate: rate?,
                    on: on?,
                    off: off?,
                })
            }
            "http" => {
                let (sizes, think) = (sizes(), mean("think"));
                let persistent = self
                    .item(inner, "persistent")
                    .and_then(|item| self.flag(&item));
                Some(Traffic::Http {
                    sizes: sizes?,
                    think: think?,
                    persistent: persistent?,
                })
            }
            "poisson-arrivals" => {
                let sizes = sizes();
                let rate = self.rate_or_share(
                    inner,
                    "load",
                    |item| self.frequency(item),
                    |load| {
                        let each = 8.0 * sizes.as_ref()?.mean() * f64::from(count?.max(1));
                        Some(load * slowest? / each)
                    },
                );
                Some(Traffic::Arrivals {
                    rate: rate?,
                    sizes: sizes?,
                })
            }
            "packmime" => {
                let rate = self
                    .item(inner, "rate")
                    .and_then(|item| self.packmime_rate(&item));
                let mean_size = self.item(inner, "mean_size").and_then(|item| {
                    if item.is_word() {
                        return Some(None);
                    }
                    self.size(&item, 1_000_000_000_000)
                        .map(|bytes| Some(bytes as f64))
                });
                let server_delay = self
                    .item(inner, "server_delay")
                    .and_then(|item| self.flag(&item));
                Some(Traffic::PackMime {
                    rate: rate?,
                    mean_size: mean_size?,
                    server_delay: server_delay?,
                })
            }
            _ => {
                let (rate, sizes) = (
                    rate(),
                    self.item(inner, "sizes")
                        .and_then(|item| self.option::<PacketSizes>(&item)),
                );
                Some(Traffic::Poisson {
                    rate: rate?,
                    exponential_sizes: sizes? == PacketSizes::Exponential,
                })
            }
        }
    }

    /// A rate, or in its place the share of a link that it makes.
    fn rate_or_share(
        &self,
        table: &Table<'_>,
        key: &str,
        rate: impl Fn(&Item<'_>) -> Option<f64>,
        of_share: impl Fn(f64) -> Option<f64>,
    ) -> Option<f64> {
        match (table.given("rate"), table.given(key)) {
            (Some(item), None) => rate(&item),
            (None, Some(item)) => {
                let value = of_share(self.share(&item)?)?;
                if value.is_finite() && (1e-9..=1e14).contains(&value) {
                    return Some(value);
                }
                self.wrong(&item, "gives no usable rate");
                None
            }
            (None, None) => {
                let allowed = table.key("rate").allowed();
                self.missing(&table.place, "rate", format!("{allowed}; or `{key}`"));
                None
            }
            (Some(_), Some(item)) => {
                self.push(
                    &item.place,
                    format!("both `rate` and `{key}`"),
                    |diagnostic| diagnostic.allowed = Some("one of them".to_owned()),
                );
                None
            }
        }
    }
}

/// The entry of [`keys::TRAFFIC`] that describes this traffic.
pub(crate) fn traffic_kind(traffic: &Traffic) -> &'static keys::TrafficKind {
    let name = match traffic {
        Traffic::Bulk => "bulk",
        Traffic::Transfer { .. } => "transfer",
        Traffic::AppLimited { .. } => "app-limited",
        Traffic::Cbr { .. } => "cbr",
        Traffic::OnOff { .. } => "on-off",
        Traffic::Poisson { .. } => "poisson",
        Traffic::Http { .. } => "http",
        Traffic::Arrivals { .. } => "poisson-arrivals",
        Traffic::PackMime { .. } => "packmime",
    };
    keys::TRAFFIC
        .iter()
        .find(|kind| kind.kind == name)
        .unwrap_or(&keys::TRAFFIC[0])
}
