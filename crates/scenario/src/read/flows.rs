//! Classes of flows.

use std::collections::HashSet;

use super::network::Net;
use super::routes::Route;
use super::routes::{earliest, own};
use super::{Place, Reader, Seen, Table, join};
use crate::keys::{self, Bottleneck, FlowClassDraft, Tcp};
use crate::model::{Distribution, End, FlowClass, Traffic};
use crate::options::Style;
use crate::tree::{Node, Value};
use crate::units::{format_time, seconds};

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
        let mut observed = Seen::new();
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
                    self.unique(&mut observed, name, &item.place);
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
                    self.unique(&mut observed, &automatic, &table.place);
                    Some(automatic.clone())
                }
            };
            let class = self.flows(&table, name.clone(), net, end);
            if let (Some(class), Some(item)) = (&class, table.given("count"))
                && class.count == 0
                && !counted.contains(class.name.as_str())
            {
                self.refuse(
                    &item,
                    "an empty class, and no change ever fills it",
                    "1 or more, or 0 where a change sets the count",
                );
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
        let mut class = FlowClass::read(self, table, Style::default());
        let route = net.and_then(|net| self.route(table, net));
        let slowest = net
            .zip(route.as_ref())
            .and_then(|(net, (path, _))| net.slowest(path));
        let path = Bottleneck {
            rate: slowest,
            flows: class.count,
        };
        class.traffic = self
            .item(table, "traffic")
            .and_then(|item| self.traffic(&item, &path));
        let traffic = class.traffic.as_ref();
        if traffic.is_some_and(|traffic| !traffic.is_tcp()) {
            self.no_keys_of_tcp(table);
        }
        class.rtt = self.round_trip(table, net, route.as_ref(), traffic);
        class.access_buffer = self
            .item(table, "access_buffer")
            .and_then(|item| self.capacity(&item, class.access_rate.flatten()));
        self.starts(table, &mut class, end);
        self.stops(table, &mut class);
        self.headers(table, &mut class);
        self.hosts(table, &mut class);
        class.tcp = self.tcp(table);
        self.refuse_traffic_of_endpoint(table, &class);
        class.name = name;
        (class.path, class.reverse_path) = route.unzip();
        class.finish()
    }

    /// A transport of others carries one connection a flow.
    fn refuse_traffic_of_endpoint(&self, table: &Table<'_>, class: &FlowClassDraft) {
        if let (Some(tcp), Some(traffic)) = (&class.tcp, &class.traffic)
            && tcp.congestion.is_endpoint()
            && !traffic.fits_endpoint()
            && let Some(item) = table.given("traffic")
        {
            self.refuse(
                &item,
                "an endpoint does not carry it",
                "\"bulk\", \"transfer\" or \"app-limited\"",
            );
        }
    }

    /// A class of UDP has none of TCP's keys.
    fn no_keys_of_tcp(&self, table: &Table<'_>) {
        for key in Tcp::KEYS {
            if let Some(entry) = table.find(key.name) {
                let place = Place {
                    key: join(&table.place.key, key.name),
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

    fn round_trip(
        &self,
        table: &Table<'_>,
        net: Option<&Net>,
        route: Option<&Route>,
        traffic: Option<&Traffic>,
    ) -> Option<Distribution> {
        let is_tcp = traffic.is_none_or(Traffic::is_tcp);
        let rtt = match (table.given("rtt"), net, route) {
            (Some(item), net, route) => {
                let own = net
                    .zip(route)
                    .and_then(|(net, (path, back))| own(net, path, back.as_deref()));
                self.rtt(&item, own, is_tcp)
            }
            (None, Some(net), Some((path, back))) => {
                self.default_rtt(table, net, path, back.as_deref(), is_tcp)
            }
            _ => None,
        };
        if traffic.is_some_and(Traffic::opens_connections)
            && let (Some(Distribution::Range(..)), Some(item)) = (&rtt, table.given("rtt"))
        {
            self.refuse(
                &item,
                "connections that come and go cannot be spaced evenly",
                "\"uniform A .. B\", or a list",
            );
            return None;
        }
        rtt
    }

    fn starts(&self, table: &Table<'_>, class: &mut FlowClassDraft, end: Option<End>) {
        let first = class.start.as_ref().map(earliest);
        if let (Some(first), Some(End::At(end))) = (first, end)
            && first >= seconds(end)
            && let Some(item) = self.item(table, "start")
        {
            self.refuse(
                &item,
                "no flow starts before the end of the run",
                format!("times before {}", format_time(end)),
            );
            class.start = None;
        }
    }

    fn stops(&self, table: &Table<'_>, class: &mut FlowClassDraft) {
        let first = class.start.as_ref().map(earliest);
        if let (Some(first), Some(stop)) = (first, class.stop.flatten())
            && first >= seconds(stop)
            && let Some(item) = self.item(table, "stop")
        {
            self.wrong(&item, "every flow would stop before it starts");
            class.stop = None;
        }
    }

    /// Numbers of hosts are for hosts that have a name.
    fn hosts(&self, table: &Table<'_>, class: &mut FlowClassDraft) {
        let sides = [
            ("source_hosts", &class.source, &mut class.source_hosts),
            (
                "destination_hosts",
                &class.destination,
                &mut class.destination_hosts,
            ),
        ];
        for (key, name, number) in sides {
            if *name == Some(None)
                && number.is_some_and(|number| number > 1)
                && let Some(item) = table.given(key)
            {
                let side = key.trim_end_matches("_hosts");
                self.refuse(
                    &item,
                    "these hosts have no name: each flow has its own",
                    format!("a name in `{side}`"),
                );
                *number = None;
            }
        }
    }

    fn headers(&self, table: &Table<'_>, class: &mut FlowClassDraft) {
        if let (Some(packet), Some(header)) = (class.packet_size, class.header_size)
            && header >= packet
            && let Some(item) = self.item(table, "header_size")
        {
            self.refuse(
                &item,
                "the headers leave no room for payload",
                "less than packet_size",
            );
            class.header_size = None;
        }
    }
}
