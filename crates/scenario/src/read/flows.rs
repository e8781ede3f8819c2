//! Classes of flows.

use std::collections::HashSet;

use ackclock_algorithms::Time;

use super::network::Net;
use super::routes::Route;
use super::routes::{earliest, own};
use super::{Place, Reader, Seen, Table, join};
use crate::keys::{self, Tcp};
use crate::model::{Distribution, End, FlowClass, Traffic};
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
        if traffic.as_ref().is_some_and(|traffic| !traffic.is_tcp()) {
            self.no_keys_of_tcp(table);
        }
        let rtt = self.round_trip(table, net, route.as_ref(), traffic.as_ref());
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
        let start = self.start(table, end);
        let stop = self.stop(table, start.as_ref());
        let packet_size = get("packet_size").and_then(|item| self.packet_size(&item));
        let header_size = self.header_size(table, packet_size);
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
            tcp: tcp?,
        })
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

    fn start(&self, table: &Table<'_>, end: Option<End>) -> Option<Distribution> {
        let item = self.item(table, "start")?;
        let start = self.distribution(&item)?;
        if let Some(End::At(end)) = end
            && earliest(&start) >= seconds(end)
        {
            self.refuse(
                &item,
                "no flow starts before the end of the run",
                format!("times before {}", format_time(end)),
            );
            return None;
        }
        Some(start)
    }

    fn stop(&self, table: &Table<'_>, start: Option<&Distribution>) -> Option<Option<Time>> {
        let item = self.item(table, "stop")?;
        if item.is_word() {
            return Some(None);
        }
        let stop = self.time(&item)?;
        if start.is_some_and(|start| earliest(start) >= seconds(stop)) {
            self.wrong(&item, "every flow would stop before it starts");
            return None;
        }
        Some(Some(stop))
    }

    fn header_size(&self, table: &Table<'_>, packet_size: Option<u32>) -> Option<u32> {
        let item = self.item(table, "header_size")?;
        let header = self.packet_size(&item)?;
        if packet_size.is_some_and(|packet| header >= packet) {
            self.refuse(
                &item,
                "the headers leave no room for payload",
                "less than packet_size",
            );
            return None;
        }
        Some(header)
    }
}
