//! Rates: of data, of connections, and as shares of a link.

use super::{Item, Reader, Table};
use crate::units::Dimension;

/// The slowest and fastest rates, bit/s: at the fastest a 40 B packet still takes 3 ps.
const RATES: (f64, f64) = (1.0, 1e14);
/// The fewest and most of something a second.
const FREQUENCIES: (f64, f64) = (1e-9, 1e9);

/// Says why a rate, or so many a second, is beyond the limits.
fn rate_problem(rate: f64, dimension: Dimension) -> Option<&'static str> {
    let ((low, high), slow, fast) = match dimension {
        Dimension::Frequency => (FREQUENCIES, "slower than 1e-9 /s", "faster than 1e9 /s"),
        _ => (RATES, "slower than 1 bit/s", "faster than 100 Tbit/s"),
    };
    if rate < 0.0 {
        Some("negative")
    } else if rate == 0.0 {
        Some("a rate of zero")
    } else if rate < low {
        Some(slow)
    } else if rate <= high {
        None
    } else {
        Some(fast)
    }
}

impl Reader<'_> {
    pub(crate) fn rate(&self, item: &Item<'_>) -> Option<f64> {
        self.rate_in(item, Dimension::Rate)
    }

    /// Something a second.
    pub(crate) fn frequency(&self, item: &Item<'_>) -> Option<f64> {
        self.rate_in(item, Dimension::Frequency)
    }

    fn rate_in(&self, item: &Item<'_>, dimension: Dimension) -> Option<f64> {
        let quantity = self.quantity(item, &[dimension])?;
        let rate = self.ok(item, quantity.value())?;
        let Some(problem) = rate_problem(rate, dimension) else {
            return Some(rate);
        };
        self.wrong(item, problem);
        None
    }

    /// The rate of connections of PackMime: below, its fitted laws have no moments.
    pub(crate) fn packmime_rate(&self, item: &Item<'_>) -> Option<f64> {
        let rate = self.frequency(item)?;
        if rate < 0.001 {
            self.wrong(item, "slower than 0.001 /s, where the model says nothing");
            return None;
        }
        Some(rate)
    }

    /// A rate, or in its place the share of a link that it makes.
    pub(crate) fn rate_or_share(
        &self,
        table: &Table<'_>,
        key: &str,
        dimension: Dimension,
        of_share: impl Fn(f64) -> Option<f64>,
    ) -> Option<f64> {
        match (table.given("rate"), table.given(key)) {
            (Some(item), None) => self.rate_in(&item, dimension),
            (None, Some(item)) => self.rate_of_share(&item, dimension, of_share),
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

    /// The rate that a share of a link makes.
    pub(crate) fn rate_of_share(
        &self,
        item: &Item<'_>,
        dimension: Dimension,
        of_share: impl Fn(f64) -> Option<f64>,
    ) -> Option<f64> {
        let rate = of_share(self.share(item)?)?;
        let Some(problem) = rate_problem(rate, dimension) else {
            return Some(rate);
        };
        self.wrong(item, format!("gives no usable rate: {problem}"));
        None
    }
}
