//! Which algorithms the fluid engine knows.

use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{aqms, congestion};

/// How well the equations of a pair of algorithms stand for the algorithms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// The laws are exact averages of the algorithms.
    Exact,
    /// One law or both leave something out: what, and whose model it is.
    Approximate(Vec<&'static str>),
    /// There is no fluid law: which algorithm lacks one.
    Refused(Vec<&'static str>),
}

/// A congestion control, an AQM, and what the fluid engine makes of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Kind of the congestion control.
    pub congestion: &'static str,
    /// Kind of the AQM.
    pub aqm: &'static str,
    /// How well they are covered.
    pub coverage: Coverage,
}

/// Every registered congestion control with every registered AQM.
#[must_use]
pub fn coverage() -> Vec<Pair> {
    let of = |tcp: &Meta, aqm: &Meta| {
        let both = [tcp, aqm];
        let lacking: Vec<&'static str> = both
            .iter()
            .filter(|m| !m.has_fluid)
            .map(|m| m.kind)
            .collect();
        let left_out: Vec<&'static str> = both.iter().filter_map(|m| m.approximation).collect();
        if !lacking.is_empty() {
            Coverage::Refused(lacking)
        } else if left_out.is_empty() {
            Coverage::Exact
        } else {
            Coverage::Approximate(left_out)
        }
    };
    congestion()
        .iter()
        .flat_map(|tcp| {
            aqms().iter().map(move |aqm| Pair {
                congestion: tcp.kind,
                aqm: aqm.kind,
                coverage: of(tcp, aqm),
            })
        })
        .collect()
}
