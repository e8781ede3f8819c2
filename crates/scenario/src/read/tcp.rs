//! The endpoint of a class of flows: what of TCP's options depends on several keys.

use ackclock_algorithms::registry::CongestionSpec;

use super::{Reader, Table};
use crate::keys::{RULES, Tcp};
use crate::options::{Named as _, Style, WindowReduction};
use crate::tree::Value;

impl Reader<'_> {
    /// The options of TCP. All are read before any is judged beside another.
    pub(super) fn tcp(&self, table: &Table<'_>) -> Option<Tcp> {
        // an unknown style is reported with the other keys
        let style = match table
            .given("style")
            .map(|item| item.node.into_owned().value)
        {
            Some(Value::Text(name)) => Style::named(&name).unwrap_or_default(),
            _ => Style::default(),
        };
        let mut tcp = Tcp::read(self, table, style);
        let needs = tcp
            .congestion
            .as_ref()
            .map(CongestionSpec::needs)
            .unwrap_or_default();
        // a congestion control that steers the window itself; what is given is judged below
        if needs.delivery && table.given("reduction").is_none() {
            tcp.reduction = Some(WindowReduction::AtOnce);
        }
        let ecn = match table.given("ecn") {
            None => Some((needs.marks, needs.marks)),
            Some(item) if item.is_word() => Some((true, true)),
            Some(item) => self.flag(&item).map(|ecn| (ecn, ecn && needs.marks)),
        };
        (tcp.ecn, tcp.accurate_ecn) = ecn.unzip();
        let tcp = tcp.finish()?;
        if tcp.congestion.is_endpoint() && !self.only_keys_of_endpoints(table) {
            return None;
        }
        for rule in RULES {
            let mut refused = rule.refused.iter().filter(|(_, holds)| holds(&tcp));
            if let Some(item) = refused.find_map(|(key, _)| table.given(key)) {
                self.refuse(&item, rule.problem, (rule.allowed)(&tcp));
                return None;
            }
        }
        Some(tcp)
    }

    /// A transport of others has none of the engine's options.
    fn only_keys_of_endpoints(&self, table: &Table<'_>) -> bool {
        let others = Tcp::KEYS
            .iter()
            .filter(|key| !Tcp::OF_ENDPOINTS.contains(&key.name));
        let given: Vec<_> = others.filter_map(|key| table.given(key.name)).collect();
        for item in &given {
            self.refuse(
                item,
                "a key of the engine's own TCP, but this class has a transport of others",
                "what its `options` say",
            );
        }
        given.is_empty()
    }
}
