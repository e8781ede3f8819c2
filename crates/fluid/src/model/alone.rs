//! A link whose scheduler has a queue for each flow, one for all, or one for scalable senders beside
//! that of the others: as a link without a scheduler.

use ackclock_algorithms::registry::AqmSpec;
use ackclock_algorithms::scheduler::Alike;
use ackclock_scenario::{Capacity, FlowClass, Scenario};

use super::unsupported;
use crate::error::{Error, Result};

/// Whether a class goes through the queue for scalable senders, ECT(1) (RFC 9331).
pub(super) fn low_latency(flows: &FlowClass) -> bool {
    flows.traffic.is_tcp() && flows.tcp.ecn && flows.tcp.accurate_ecn
}

/// The scenario with the classic queue alone of a link whose scheduler couples one for scalable
/// senders to it, and what that leaves out; `None` where there is no such scheduler.
///
/// # Errors
/// Where the link is not alone, or no flow meets the classic queue.
pub(super) fn coupled(scenario: &Scenario) -> Result<Option<(Scenario, String)>> {
    let coupling = scenario.links.iter().find_map(|link| {
        let scheduler = link.scheduler?;
        Some((link, scheduler, scheduler.coupling()?))
    });
    let Some((link, scheduler, coupling)) = coupling else {
        return Ok(None);
    };
    let what = format!("link `{}`: scheduler {}", link.name, scheduler.kind());
    if scenario.links.len() > 1 {
        return unsupported(what, "the laws know its two queues on one link only");
    }
    if scenario.flows.iter().all(low_latency) {
        return unsupported(
            what,
            "without classic flows the queue for scalable ones follows marks of its own, which only the packet engine knows",
        );
    }
    let mut scenario = scenario.clone();
    let link = &mut scenario.links[0];
    link.scheduler = None;
    link.aqm = AqmSpec::from_values(coupling.aqm, &coupling.values).map_err(|error| {
        Error::Unsupported {
            what: what.clone(),
            why: error.to_string(),
        }
    })?;
    let note = if scenario.flows.iter().any(low_latency) {
        format!(
            "{what}: the queue is that of classic packets; the one of scalable packets goes first, is taken as empty and has the coupled marks only, while its packets leave {:.0} % of the link or more",
            100.0 * coupling.classic_share
        )
    } else {
        format!("{what}: all flows are classic and share one queue")
    };
    Ok(Some((scenario, note)))
}

/// The scenario without its scheduler, and what that leaves out; `None` where there is no
/// scheduler.
///
/// Flows of one class that each have a queue are each alone with an equal share of rate and
/// capacity: one flow stands for all (max-min shares of flows that are alike). Flows of one
/// priority share a single queue.
///
/// # Errors
/// Where flows are not alike, or meet other links.
pub(super) fn alone(scenario: &Scenario) -> Result<Option<(Scenario, String)>> {
    let Some((place, scheduler)) = scenario
        .links
        .iter()
        .enumerate()
        .find_map(|(place, link)| link.scheduler.map(|scheduler| (place, scheduler)))
    else {
        return Ok(None);
    };
    let what = format!(
        "link `{}`: scheduler {}",
        scenario.links[place].name,
        scheduler.kind()
    );
    let mut scenario = scenario.clone();
    let first = scenario.flows.first().map_or(0, |flows| flows.priority);
    let note = match scheduler.alike() {
        Alike::One if scenario.flows.iter().all(|flows| flows.priority == first) => {
            format!("{what}: all flows have one priority, so that there is one queue")
        }
        Alike::One => {
            return unsupported(what, "the laws know no priorities between queues");
        }
        Alike::Each if scenario.flows.len() == 1 && scenario.links.len() == 1 => {
            let flows = scenario.flows[0].count;
            let link = &mut scenario.links[place];
            link.rate /= f64::from(flows);
            link.capacity = match link.capacity {
                Capacity::Packets(packets) => Capacity::Packets((packets / flows).max(1)),
                Capacity::Bytes(bytes) => Capacity::Bytes((bytes / u64::from(flows)).max(1)),
                Capacity::Unlimited => Capacity::Unlimited,
            };
            scenario.flows[0].count = 1;
            if flows == 1 {
                format!("{what}: there is one flow, so that there is one queue")
            } else {
                format!(
                    "{what}: each flow has a queue and an equal share of the link, so that the equations are those of one flow of {flows}; windows and queues are a flow's"
                )
            }
        }
        Alike::Each => {
            return unsupported(
                what,
                "the laws know the shares of flows of one class on one link only",
            );
        }
        Alike::Own => {
            return unsupported(what, "only the packet engine follows its queues");
        }
    };
    scenario.links[place].scheduler = None;
    Ok(Some((scenario, note)))
}
