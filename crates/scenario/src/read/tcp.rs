//! The endpoint of a class of flows: what of TCP's options depends on several keys.

use ackclock_algorithms::registry::CongestionSpec;

use super::{Reader, Table};
use crate::keys::{RULES, Tcp};
use crate::options::{Named as _, Style, WindowReduction};
use crate::tree::Value;

impl Reader<'_> {
    /// The options of TCP. All are read before any is judged beside another.
    pub(super) fn tcp(&self, table: &Table<'_>) -> Option<Tcp> {
        // whether it is a style is told with the other keys
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
        for rule in RULES {
            let mut refused = rule.refused.iter().filter(|(_, holds)| holds(&tcp));
            if let Some(item) = refused.find_map(|(key, _)| table.given(key)) {
                self.refuse(&item, rule.problem, (rule.allowed)(&tcp));
                return None;
            }
        }
        Some(tcp)
    }
}
