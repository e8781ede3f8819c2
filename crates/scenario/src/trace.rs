//! Rates over time, and the files that they come from.

use ackclock_algorithms::Time;

use crate::units::{Dimension, Quantity};

/// The most steps that a trace may have.
pub(crate) const MOST_STEPS: usize = 1_000_000;
/// The shortest step: the engines go through all that lie between two packets.
const SHORTEST_STEP: Time = Time(Time::PER_SECOND / 1_000_000);
/// Bytes of a delivery opportunity in a Mahimahi trace.
const OPPORTUNITY_BYTES: f64 = 1500.0;

/// A rate over time: constant from each step to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrace {
    /// When a step begins, and its rate in bit/s (zero: nothing is sent); ascending, the first at
    /// zero.
    steps: Vec<(Time, f64)>,
    /// After this time it begins anew; `None`: the last step lasts for ever.
    repeat: Option<Time>,
}

impl RateTrace {
    /// Checks the steps: from zero on, ascending, not all zero, and not ending with zero unless the
    /// trace repeats.
    pub(crate) fn new(steps: Vec<(Time, f64)>, repeat: Option<Time>) -> Result<Self, String> {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return Err("the trace has no steps".to_owned());
        };
        if steps.len() > MOST_STEPS {
            return Err(format!("the trace has more than {MOST_STEPS} steps"));
        }
        if first.0 != Time::ZERO {
            return Err("the first step is not at 0 s".to_owned());
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!(
                "the times do not ascend after {} s",
                pair[0].0.seconds()
            ));
        }
        if repeat.is_some_and(|period| period <= last.0) {
            return Err(format!(
                "it would repeat before its last step, at {} s",
                last.0.seconds()
            ));
        }
        let ends = steps[1..].iter().map(|step| step.0).chain(repeat);
        if let Some((step, end)) = steps
            .iter()
            .zip(ends)
            .find(|(step, end)| end.since(step.0) < SHORTEST_STEP)
        {
            return Err(format!(
                "the step at {} s lasts {} s; a step must last 1 us or longer",
                step.0.seconds(),
                end.since(step.0).seconds()
            ));
        }
        if steps.iter().all(|step| step.1 == 0.0) {
            return Err("the link would never send".to_owned());
        }
        if last.1 == 0.0 && repeat.is_none() {
            return Err("the rate ends with zero and the trace does not repeat: what waits then would never leave".to_owned());
        }
        Ok(Self { steps, repeat })
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[(Time, f64)] {
        &self.steps
    }

    /// After which time it begins anew.
    #[must_use]
    pub fn repeat(&self) -> Option<Time> {
        self.repeat
    }

    /// The rate at `time`, bit/s, and when it changes next.
    #[must_use]
    pub fn at(&self, time: Time) -> (f64, Time) {
        let within = self.repeat.map_or(time.0, |period| time.0 % period.0);
        let begin = time.0 - within;
        let next = self.steps.partition_point(|step| step.0.0 <= within);
        let until = match (self.steps.get(next), self.repeat) {
            (Some(step), _) => Time(begin + step.0.0),
            (None, Some(period)) => Time(begin + period.0),
            (None, None) => Time::NEVER,
        };
        (self.steps[next.max(1) - 1].1, until)
    }

    /// The mean over the period, or up to the last step, bit/s. With a single step, or with nothing
    /// but an outage before the last, it is that step's rate: above zero in any case.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let end = self.repeat.unwrap_or(self.steps[self.steps.len() - 1].0);
        if end == Time::ZERO {
            return self.steps[0].1;
        }
        let ends = self.steps[1..].iter().map(|step| step.0).chain([end]);
        let bits: f64 = self
            .steps
            .iter()
            .zip(ends)
            .map(|(step, end)| step.1 * end.since(step.0).seconds())
            .sum();
        if bits > 0.0 {
            bits / end.seconds()
        } else {
            self.steps[self.steps.len() - 1].1
        }
    }

    /// Reads a CSV file of times and rates, with units in the cells or in the header.
    pub(crate) fn from_csv(text: &str, repeat: Option<Time>) -> Result<Self, String> {
        let mut units: Option<(f64, f64)> = None;
        let mut steps = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |problem: &str| {
                format!(
                    "line {}: {problem}: {}",
                    number + 1,
                    crate::units::shorten(line)
                )
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((time, rate)) = line.split_once(',') else {
                return Err(wrong("not a time and a rate, with a comma between them"));
            };
            let (time, rate) = (time.trim(), rate.trim());
            if steps.is_empty() && units.is_none() && time.starts_with(char::is_alphabetic) {
                units = Some(header(time, rate).ok_or_else(|| wrong(
                    "the header must be time,rate, or name units: time_s or time_ms, and rate_bps, rate_kbps, rate_mbps or rate_gbps",
                ))?);
                continue;
            }
            let value = |cell: &str,
                         dimension: Dimension,
                         unit: Option<f64>|
             -> Result<f64, String> {
                match (cell.parse::<f64>(), unit) {
                    (Ok(number), Some(unit)) if unit > 0.0 => Ok(number * unit),
                    (Ok(_), _) => Err(wrong(
                        "the unit is missing: write it in the cell (\"1.5 s\", \"10 Mbit/s\") or in the header (time_s,rate_mbps)",
                    )),
                    (Err(_), _) => {
                        let quantity =
                            Quantity::parse(cell).map_err(|error| wrong(&error.to_string()))?;
                        if quantity.dimension != dimension {
                            return Err(wrong(&format!(
                                "{} where {} is needed",
                                quantity.dimension.noun(),
                                dimension.noun()
                            )));
                        }
                        quantity.value().map_err(|error| wrong(&error.to_string()))
                    }
                }
            };
            let time = value(time, Dimension::Time, units.map(|unit| unit.0))?;
            let rate = value(rate, Dimension::Rate, units.map(|unit| unit.1))?;
            if !(0.0..=2.6e6).contains(&time) {
                return Err(wrong("a time must lie between zero and 30 days"));
            }
            if !(rate == 0.0 || (1.0..=1e14).contains(&rate)) {
                return Err(wrong("a rate must be zero, or from 1 bit/s to 100 Tbit/s"));
            }
            steps.push((Time::from_seconds(time), rate));
        }
        Self::new(steps, repeat)
    }

    /// Reads a Mahimahi trace: each line is a millisecond in which a packet of 1500 B can be
    /// delivered. The opportunities of a millisecond become a rate over the millisecond that ends
    /// then; the trace repeats after its last line.
    pub(crate) fn from_mahimahi(text: &str, repeat: Option<Time>) -> Result<Self, String> {
        const MS: u64 = Time::PER_SECOND / 1000;
        let mut opportunities: Vec<u32> = Vec::new();
        let mut last = 0;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let wrong = |problem: &str| {
                format!(
                    "line {}: {problem}: {}",
                    number + 1,
                    crate::units::shorten(line)
                )
            };
            let at: usize = line
                .parse()
                .map_err(|_| wrong("not a whole number of milliseconds"))?;
            if at < last {
                return Err(wrong("the times do not ascend"));
            }
            if at > MOST_STEPS {
                return Err(wrong("longer than 1000 s"));
            }
            last = at;
            let slot = at.max(1) - 1;
            if opportunities.len() <= slot {
                opportunities.resize(slot + 1, 0);
            }
            opportunities[slot] += 1;
        }
        let mut steps: Vec<(Time, f64)> = Vec::new();
        for (slot, count) in opportunities.iter().enumerate() {
            let rate = f64::from(*count) * OPPORTUNITY_BYTES * 8e3;
            if steps.last().is_none_or(|step| step.1 != rate) {
                steps.push((Time(slot as u64 * MS), rate));
            }
        }
        let period = repeat.unwrap_or(Time(opportunities.len() as u64 * MS));
        Self::new(steps, Some(period))
    }
}

/// Units of a header's columns, in s and bit/s; zero where the cells must have them.
fn header(time: &str, rate: &str) -> Option<(f64, f64)> {
    let time = match time {
        "time" => 0.0,
        "time_s" => 1.0,
        "time_ms" => 1e-3,
        _ => return None,
    };
    let rate = match rate {
        "rate" => 0.0,
        "rate_bps" => 1.0,
        "rate_kbps" => 1e3,
        "rate_mbps" => 1e6,
        "rate_gbps" => 1e9,
        _ => return None,
    };
    Some((time, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = Time::PER_SECOND;

    #[test]
    fn a_csv_with_units_in_cells_or_header() {
        let cells = RateTrace::from_csv(
            "time,rate\n0 s,10 Mbit/s\n# outage\n1500 ms, 0 bit/s\n\n2 s,500 kbit/s\n",
            None,
        )
        .unwrap();
        let header =
            RateTrace::from_csv("time_ms,rate_kbps\n0,10000\n1500,0\n2000,500\n", None).unwrap();
        assert_eq!(cells, header);
        assert_eq!(cells.at(Time(0)), (10e6, Time(3 * S / 2)));
        assert_eq!(cells.at(Time(3 * S / 2)), (0.0, Time(2 * S)));
        assert_eq!(cells.at(Time(9 * S)), (500e3, Time::NEVER));
        assert!((cells.mean() - 7.5e6).abs() < 1e-6);
    }

    #[test]
    fn a_trace_that_begins_with_an_outage_has_a_rate() {
        let trace = RateTrace::from_csv("time_s,rate_mbps\n0,0\n2,0.5\n", None).unwrap();
        assert_eq!(trace.mean(), 5e5);
    }

    #[test]
    fn a_trace_repeats() {
        let trace = RateTrace::from_csv("time_s,rate_mbps\n0,1\n1,3\n", Some(Time(2 * S))).unwrap();
        assert_eq!(trace.at(Time(2 * S)), (1e6, Time(3 * S)));
        assert_eq!(trace.at(Time(7 * S + 5)), (3e6, Time(8 * S)));
        assert_eq!(trace.mean(), 2e6);
    }

    #[test]
    fn mahimahi_opportunities() {
        // two packets in the first millisecond, none in the second, one in the third
        let trace = RateTrace::from_mahimahi("1\n1\n3\n", None).unwrap();
        assert_eq!(
            trace.steps(),
            [
                (Time(0), 24e6),
                (Time(S / 1000), 0.0),
                (Time(S / 500), 12e6)
            ]
        );
        assert_eq!(trace.repeat(), Some(Time(3 * S / 1000)));
        assert_eq!(trace.mean(), 12e6);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, problem) in [
            ("0 s,1 Mbit/s\n5 s\n", "line 2: not a time and a rate"),
            ("0,1\n", "line 1: the unit is missing"),
            ("time_h,rate_bps\n", "line 1: the header must be"),
            ("0 s,1 MB\n", "where"),
            ("0 s,-1 Mbit/s\n", "line 1: "),
            ("1 s,1 Mbit/s\n", "the first step is not at 0 s"),
            (
                "0 s,1 Mbit/s\n2 s,1 Mbit/s\n1 s,2 Mbit/s\n",
                "the times do not ascend after 2 s",
            ),
            ("0 s,1 Mbit/s\n2 s,0 bit/s\n", "ends with zero"),
            ("", "no steps"),
        ] {
            let error = RateTrace::from_csv(text, None).unwrap_err();
            assert!(error.contains(problem), "{text:?}: {error}");
        }
        assert!(
            RateTrace::from_mahimahi("1\nx\n", None)
                .unwrap_err()
                .starts_with("line 2: not a whole number")
        );
        assert!(RateTrace::from_mahimahi("", None).is_err());
        let error = RateTrace::from_csv("0 s,1 Mbit/s\n2 s,2 Mbit/s\n", Some(Time(S))).unwrap_err();
        assert!(error.contains("repeat before its last step"), "{error}");
    }
}
