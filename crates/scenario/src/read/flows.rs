//! Classes of flows.

use std::borrow::Cow;
use std::collections::HashSet;

use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{CongestionSpec, congestion};
use ackclock_algorithms::{DefaultValue, Time, Value as Setpoint};

use super::network::Net;
use super::routes::{earliest, own};
use super::{Item, Place, Reader, Seen, Table, join};
use crate::diagnostic::quoted_list;
use crate::keys;
use crate::model::{Distribution, End, FlowClass, Tcp, Traffic};
use crate::options::{
    EcnFeedback, LossDetection, Pacing, PacketSizes, Recovery, RttSamples, Style, Undo,
    WindowReduction,
};
use crate::tree::{Node, Value};
use crate::units::{format_time, seconds, shorten};

/// A class's name, and the class unless it has mistakes.
pub(super) type NamedClass = (String, Option<FlowClass>);

impl Reader<'_> {
    /// `[[flows]]`.
    pub(super) fn all_flows(
        &self,
        root: &Table<'_>,
        net: Option<&Net>,
        end: Option<End>,
    ) -> Option<Vec<NamedClass>> {
        let tables = self.repeated(root, "flows")?;
        if tables.is_empty() {
            self.push(&root.place, "there are no flows", |diagnostic| {
                diagnostic.allowed = Some("[[flows]]".to_owned());
            });
            return None;
        }
        let mut seen = Seen::new();
        let counted = Self::counted_by_changes(root);
        let mut classes = Vec::new();
        for (at, (place, node)) in tables.into_iter().enumerate() {
            let automatic = format!("flows-{}", at + 1);
            let Some(table) = self.table(node, place, keys::FLOWS.keys, &[]) else {
                classes.push((automatic, None));
                continue;
            };
            let name = match table.given("name") {
                Some(item) => self.name(&item).filter(|name| {
                    self.unique(&mut seen, name, &item.place);
                    if name == "all" {
                        self.push(
                            &item.place,
                            "the name \"all\" means all flows together in results",
                            |diagnostic| {
                                diagnostic.allowed = Some("any other name".to_owned());
                            },
                        );
                    }
                    name != "all"
                }),
                None => {
                    self.unique(&mut seen, &automatic, &table.place);
                    Some(automatic.clone())
                }
            };
            let class = self.flows(&table, name.clone(), net, end);
            if let (Some(class), Some(item)) = (&class, table.given("count"))
                && class.count == 0
                && !counted.contains(class.name.as_str())
            {
                self.wrong(&item, "an empty class, and no change ever fills it");
            }
            classes.push((name.unwrap_or(automatic), class));
        }
        Some(classes)
    }

    /// The classes whose number some change sets (whatever else is wrong with it).
    fn counted_by_changes<'n>(root: &Table<'n>) -> HashSet<&'n str> {
        let changes = match root.find("change").map(|(_, node)| &node.value) {
            Some(Value::Array(changes)) => changes.as_slice(),
            _ => &[],
        };
        let class_of = |change: &'n Node| {
            let Value::Table(entries) = &change.value else {
                return None;
            };
            let find = |key: &str| entries.iter().find(|(name, _)| name.text == key);
            match (find("count"), find("flows")) {
                (
                    Some(_),
                    Some((
                        _,
                        Node {
                            value: Value::Text(class),
                            ..
                        },
                    )),
                ) => Some(class.trim()),
                _ => None,
            }
        };
        changes.iter().filter_map(class_of).collect()
    }

    fn flows(
        &self,
        table: &Table<'_>,
        name: Option<String>,
        net: Option<&Net>,
        end: Option<End>,
    ) -> Option<FlowClass> {
        let get = |key: &str| self.item(table, key);
        let count = get("count")
            .and_then(|item| self.integer(&item))
            .and_then(|count| u32::try_from(count).ok());
        let route = net.and_then(|net| self.route(table, net));
        let slowest = net
            .zip(route.as_ref())
            .and_then(|(net, (path, _))| net.slowest(path));
        let traffic = self.traffic(table, slowest, count);
        let is_tcp = traffic.as_ref().is_none_or(Traffic::is_tcp);
        if !is_tcp {
            for key in keys::TCP_KEYS {
                if let Some(entry) = table.find(key) {
                    let place = Place {
                        key: join(&table.place.key, key),
                        span: entry.0.span.clone(),
                    };
                    self.push(
                        &place,
                        "a key of TCP, but the traffic of this class is UDP",
                        |_| {},
                    );
                }
            }
        }
        let rtt = match (table.given("rtt"), net, &route) {
            (Some(item), net, route) => {
                let own = net
                    .zip(route.as_ref())
                    .and_then(|(net, (path, back))| own(net, path, back.as_deref()));
                self.rtt(&item, own, is_tcp)
            }
            (None, Some(net), Some((path, back))) => {
                self.default_rtt(table, net, path, back.as_deref(), is_tcp)
            }
            _ => None,
        };
        if traffic.as_ref().is_some_and(Traffic::opens_connections)
            && let (Some(Distribution::Range(..)), Some(item)) = (&rtt, table.given("rtt"))
        {
            self.push(
                &item.place,
                "connections that come and go cannot be spaced evenly",
                |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                    diagnostic.allowed = Some("\"uniform A .. B\", or a list".to_owned());
                },
            );
            return None;
        }
        let priority = get("priority")
            .and_then(|item| self.integer(&item))
            .and_then(|priority| u8::try_from(priority).ok());
        let access_rate = get("access_rate").and_then(|item| {
            if item.is_word() {
                Some(None)
            } else {
                self.rate(&item).map(Some)
            }
        });
        let access_buffer =
            get("access_buffer").and_then(|item| self.capacity(&item, access_rate.flatten()));
        let start = get("start").and_then(|item| {
            let start = self.distribution(&item)?;
            if let Some(End::At(end)) = end
                && earliest(&start) >= seconds(end)
            {
                self.push(
                    &item.place,
                    "no flow starts before the end of the run",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some(format!("times before {}", format_time(end)));
                    },
                );
                return None;
            }
            Some(start)
        });
        let stop = get("stop").and_then(|item| {
            if item.is_word() {
                return Some(None);
            }
            let stop = self.time(&item)?;
            if start
                .as_ref()
                .is_some_and(|start| earliest(start) >= seconds(stop))
            {
                self.wrong(&item, "every flow would stop before it starts");
                return None;
            }
            Some(Some(stop))
        });
        let packet_size = get("packet_size").and_then(|item| self.packet_size(&item));
        let header_size = get("header_size").and_then(|item| {
            let header = self.packet_size(&item)?;
            if packet_size.is_some_and(|packet| header >= packet) {
                self.push(
                    &item.place,
                    "the headers leave no room for payload",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some("less than packet_size".to_owned());
                    },
                );
                return None;
            }
            Some(header)
        });
        let ack_size = get("ack_size").and_then(|item| self.packet_size(&item));
        let tcp = self.tcp(table);
        let (path, reverse_path) = route?;
        Some(FlowClass {
            name: name?,
            count: count?,
            path,
            reverse_path,
            rtt: rtt?,
            priority: priority?,
            access_rate: access_rate?,
            access_buffer: access_buffer?,
            start: start?,
            stop: stop?,
            traffic: traffic?,
            packet_size: packet_size?,
            header_size: header_size?,
            ack_size: ack_size?,
            tcp: tcp?,
        })
    }

    fn tcp(&self, table: &Table<'_>) -> Option<Tcp> {
        let style = self
            .item(table, "style")
            .and_then(|item| self.option(&item))?;
        let defaults = match style {
            Style::Rfc => &[][..],
            Style::Linux => keys::LINUX,
        };
        let get = |key: &str| self.item_or(table, key, defaults);
        let flag = |key: &str| get(key).and_then(|item| self.flag(&item));
        let time = |key: &str| get(key).and_then(|item| self.time(&item));
        let congestion = self.congestion(table, style);
        let recovery: Option<Recovery> = get("recovery").and_then(|item| self.option(&item));
        let reduction: Option<WindowReduction> =
            get("reduction").and_then(|item| self.option(&item));
        let loss_detection: Option<LossDetection> =
            get("loss_detection").and_then(|item| self.option(&item));
        let rack = loss_detection == Some(LossDetection::Rack);
        let undo: Option<Undo> = get("undo").and_then(|item| self.option(&item));
        let detect_lost_retransmissions = flag("detect_lost_retransmissions");
        if recovery.is_some_and(|recovery| recovery != Recovery::Sack) {
            // what the style sets by itself contradicts nothing, and is written with the scenario
            let linux = style == Style::Linux;
            let reduces = match reduction {
                Some(WindowReduction::AtOnce) => false,
                Some(WindowReduction::Prr) => !linux,
                _ => true,
            };
            for (key, set) in [
                ("reduction", reduces),
                ("loss_detection", rack && !linux),
                ("undo", undo == Some(Undo::Dsack)),
                (
                    "detect_lost_retransmissions",
                    detect_lost_retransmissions == Some(true),
                ),
            ] {
                if set && let Some(item) = table.given(key) {
                    self.push(
                        &item.place,
                        "needs selective acknowledgements",
                        |diagnostic| {
                            diagnostic.found = Some(item.node.describe());
                            diagnostic.allowed = Some("with recovery = \"sack\" only".to_owned());
                        },
                    );
                    return None;
                }
            }
        }
        let initial_window = get("initial_window").and_then(|item| self.initial_window(&item));
        let initial_ssthresh = get("initial_ssthresh").and_then(|item| {
            if item.is_word() {
                Some(f64::INFINITY)
            } else {
                self.packets(&item)
            }
        });
        let max_window = get("max_window").and_then(|item| {
            if item.is_word() {
                Some(None)
            } else {
                self.whole_packets(&item).map(Some)
            }
        });
        let needs = congestion
            .as_ref()
            .map(CongestionSpec::needs)
            .unwrap_or_default();
        let ecn = match get("ecn") {
            None => Some((needs.marks, needs.marks)),
            Some(item) if item.is_word() => Some((true, true)),
            Some(item) => self.flag(&item).map(|ecn| (ecn, ecn && needs.marks)),
        };
        let ecn_feedback: Option<EcnFeedback> =
            get("ecn_feedback").and_then(|item| self.option(&item));
        if ecn.is_some_and(|(ecn, _)| !ecn)
            && ecn_feedback != Some(EcnFeedback::Auto)
            && let Some(item) = table.given("ecn_feedback")
        {
            self.push(&item.place, "needs ECN", |diagnostic| {
                diagnostic.found = Some(item.node.describe());
                diagnostic.allowed = Some("with ecn = true only".to_owned());
            });
            return None;
        }
        let pacing: Option<Pacing> = get("pacing").and_then(|item| self.option(&item));
        let hystart = flag("hystart");
        let reduction = match reduction {
            // it steers the window itself; what is given is judged below
            Some(_) if needs.delivery && table.given("reduction").is_none() => {
                Some(WindowReduction::AtOnce)
            }
            _ => reduction,
        };
        if needs.delivery {
            for (key, set) in [
                ("recovery", recovery != Some(Recovery::Sack)),
                ("reduction", reduction != Some(WindowReduction::AtOnce)),
                ("hystart", hystart == Some(true)),
            ] {
                if set && let Some(item) = table.given(key) {
                    self.push(
                        &item.place,
                        "contradicts the congestion control, which steers the window from selective acknowledgements itself",
                        |diagnostic| {
                            diagnostic.found = Some(item.node.describe());
                            diagnostic.allowed = Some(format!(
                                "recovery \"sack\", reduction \"at-once\", hystart false with \"{}\"",
                                congestion.as_ref().map_or("", CongestionSpec::kind)
                            ));
                        },
                    );
                    return None;
                }
            }
        }
        let (handshake, delayed_ack, limited_transmit) = (
            flag("handshake"),
            flag("delayed_ack"),
            flag("limited_transmit"),
        );
        let delayed_ack_timeout = time("delayed_ack_timeout");
        let ecn_pause = flag("ecn_pause");
        if style == Style::Linux
            && ecn_pause == Some(true)
            && let Some(item) = table.given("ecn_pause")
        {
            self.push(&item.place, "Linux sends on", |diagnostic| {
                diagnostic.found = Some(item.node.describe());
                diagnostic.allowed = Some("true with style = \"rfc\" only".to_owned());
            });
            return None;
        }
        let (min_rto, max_rto, initial_rto) =
            (time("min_rto"), time("max_rto"), time("initial_rto"));
        if let (Some(least), Some(most)) = (min_rto, max_rto)
            && least > most
            && let Some(item) = table.given("min_rto").or_else(|| table.given("max_rto"))
        {
            self.push(&item.place, "min_rto is above max_rto", |diagnostic| {
                diagnostic.found = Some(item.node.describe());
                diagnostic.allowed = Some(format!(
                    "min_rto {} at most max_rto {}",
                    format_time(least),
                    format_time(most)
                ));
            });
            return None;
        }
        let rtt_samples: Option<RttSamples> =
            get("rtt_samples").and_then(|item| self.option(&item));
        let clock_granularity = get("clock_granularity").and_then(|item| {
            if item.is_word() {
                Some(Time::ZERO)
            } else {
                self.time(&item)
            }
        });
        let restart_rto_on_every_ack = flag("restart_rto_on_every_ack");
        if style == Style::Linux {
            for (key, set) in [
                ("rtt_samples", rtt_samples != Some(RttSamples::EveryAck)),
                ("clock_granularity", clock_granularity != Some(Time::ZERO)),
                (
                    "restart_rto_on_every_ack",
                    restart_rto_on_every_ack == Some(true),
                ),
            ] {
                if set && let Some(item) = table.given(key) {
                    self.push(
                        &item.place,
                        "contradicts style \"linux\", whose timer has samples and ticks of its own",
                        |diagnostic| {
                            diagnostic.found = Some(item.node.describe());
                            diagnostic.allowed = Some("in style \"rfc\" only".to_owned());
                        },
                    );
                    return None;
                }
            }
        }
        let dup_threshold = get("dup_threshold")
            .and_then(|item| self.integer(&item))
            .and_then(|number| u32::try_from(number).ok());
        Some(Tcp {
            style,
            congestion: congestion?,
            recovery: recovery?,
            reduction: reduction?,
            loss_detection: loss_detection?,
            detect_lost_retransmissions: detect_lost_retransmissions?,
            handshake: handshake?,
            initial_window: initial_window?,
            initial_ssthresh: initial_ssthresh?,
            max_window: max_window?,
            ecn: ecn?.0,
            accurate_ecn: ecn?.1,
            ecn_feedback: ecn_feedback?,
            pacing: pacing?,
            hystart: hystart?,
            delayed_ack: delayed_ack?,
            delayed_ack_timeout: delayed_ack_timeout?,
            limited_transmit: limited_transmit?,
            ecn_pause: ecn_pause?,
            min_rto: min_rto?,
            max_rto: max_rto?,
            initial_rto: initial_rto?,
            rtt_samples: rtt_samples?,
            clock_granularity: clock_granularity?,
            restart_rto_on_every_ack: restart_rto_on_every_ack?,
            undo: undo?,
            dup_threshold: dup_threshold?,
        })
    }

    /// `congestion = "cubic"` or `{ kind = "compound", ... }`.
    fn congestion(&self, table: &Table<'_>, style: Style) -> Option<CongestionSpec> {
        let item = self.item(table, "congestion")?;
        let Value::Table(entries) = &item.node.value else {
            let meta = self.algorithm(&item, congestion(), "congestion control")?;
            let empty = Table {
                place: item.place.clone(),
                entries: &[],
                keys: &[],
            };
            let values = in_style(style, meta, self.parameters(&empty, meta)?);
            return CongestionSpec::from_values(meta.kind, &values)
                .map_err(|error| self.refused(&item.place, &error))
                .ok();
        };
        let Some((_, kind)) = entries.iter().find(|(name, _)| name.text == "kind") else {
            let names: Vec<_> = congestion().iter().map(|meta| meta.kind).collect();
            self.missing(&item.place, "kind", quoted_list(names));
            return None;
        };
        let place = Place {
            key: join(&item.place.key, "kind"),
            span: kind.span.clone(),
        };
        let meta = self.algorithm(
            &Item {
                node: Cow::Borrowed(kind),
                place,
                rule: item.rule,
            },
            congestion(),
            "congestion control",
        )?;
        let names: Vec<&str> = std::iter::once("kind")
            .chain(meta.parameters.iter().map(|spec| spec.name))
            .collect();
        let inner = self.table(&item.node, item.place.clone(), &[], &names)?;
        let values = in_style(style, meta, self.parameters(&inner, meta)?);
        CongestionSpec::from_values(meta.kind, &values)
            .map_err(|error| self.refused(&Self::place_of_parameter(&inner, &error.name), &error))
            .ok()
    }

    /// `traffic = "bulk"` or `{ kind = "transfer", ... }`.
    ///
    /// `slowest` is the rate of the slowest link of the path, `count` the number of flows.
    fn traffic(
        &self,
        table: &Table<'_>,
        slowest: Option<f64>,
        count: Option<u32>,
    ) -> Option<Traffic> {
        let item = self.item(table, "traffic")?;
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
                self.wrong_kind(&item);
                return None;
            }
        };
        let Some(kind) = keys::TRAFFIC.iter().find(|known| known.kind == kind) else {
            self.unknown_name(
                &kind_place,
                format!("there is no traffic \"{}\"", shorten(kind)),
                kind,
                &kinds,
            );
            return None;
        };
        let inner = match &item.node.value {
            Value::Table(_) => self.table(&item.node, item.place.clone(), kind.keys, &["kind"])?,
            _ => Table {
                place: item.place.clone(),
                entries: &[],
                keys: kind.keys,
            },
        };
        let rate = || self.item(&inner, "rate").and_then(|item| self.rate(&item));
        let sizes = || self.item(&inner, "size").and_then(|item| self.sizes(&item));
        let mean = |key: &str| self.item(&inner, key).and_then(|item| self.seconds(&item));
        match kind.kind {
            "bulk" => Some(Traffic::Bulk),
            "transfer" => {
                let bytes = self
                    .item(&inner, "size")
                    .and_then(|item| self.size(&item, u64::MAX))?;
                Some(Traffic::Transfer { bytes })
            }
            "app-limited" => rate().map(|rate| Traffic::AppLimited { rate }),
            "cbr" => rate().map(|rate| Traffic::Cbr { rate }),
            "on-off" => {
                let rate = self.rate_or_share(
                    &inner,
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
                    .item(&inner, "persistent")
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
                    &inner,
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
                    .item(&inner, "rate")
                    .and_then(|item| self.frequency(&item));
                let mean_size = self.item(&inner, "mean_size").and_then(|item| {
                    if item.is_word() {
                        return Some(None);
                    }
                    self.size(&item, 1_000_000_000_000)
                        .map(|bytes| Some(bytes as f64))
                });
                let server_delay = self
                    .item(&inner, "server_delay")
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
                    self.item(&inner, "sizes")
                        .and_then(|item| self.option::<PacketSizes>(&item)),
                );
                Some(Traffic::Poisson {
                    rate: rate?,
                    exponential_sizes: sizes? == PacketSizes::Exponential,
                })
            }
        }
    }
}

impl Reader<'_> {
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

/// The values given, and those that the style has in place of defaults.
fn in_style(
    style: Style,
    meta: &Meta,
    mut given: Vec<(String, Setpoint)>,
) -> Vec<(String, Setpoint)> {
    if style == Style::Linux {
        for (name, value) in meta.linux {
            let value = match value {
                DefaultValue::Required => continue,
                DefaultValue::Number(number) => Setpoint::Number(*number),
                DefaultValue::Flag(flag) => Setpoint::Flag(*flag),
                DefaultValue::Word(word) => Setpoint::Word((*word).to_owned()),
            };
            if given.iter().all(|(other, _)| other != name) {
                given.push(((*name).to_owned(), value));
            }
        }
    }
    given
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
