//! Reports of a flow's ACKs on their way, beside the cumulative number: an ACK carries the number of
//! its report.

use std::collections::VecDeque;

use crate::tcp::receive_buffer::Offer;

/// SACK blocks, and what the receive buffer takes where it limits the sender.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) blocks: Vec<(u64, u64)>,
    pub(crate) offer: Option<Offer>,
}

/// The reports of one flow. Numbers are never given twice: what waits in a queue that filters ACKs is
/// known by its flow's state and its number.
#[derive(Default)]
pub(crate) struct AckReports {
    sent: VecDeque<(u32, Report)>,
    last: u32,
}

impl AckReports {
    /// Keeps the report of an ACK: its number.
    pub(crate) fn keep(&mut self, report: Report) -> u32 {
        self.last += 1;
        self.sent.push_back((self.last, report));
        self.last
    }

    /// The report of an ACK that is still on its way, if it has one.
    pub(crate) fn of(&self, number: u32) -> Option<&Report> {
        let place = self.sent.binary_search_by_key(&number, |&(it, _)| it);
        Some(&self.sent[place.ok()?].1)
    }

    /// Takes the report of an ACK that has arrived; those of ACKs that were lost before it are
    /// forgotten.
    pub(crate) fn take(&mut self, number: u32) -> Report {
        let mut report = Report::default();
        while let Some((it, _)) = self.sent.front()
            && *it <= number
        {
            report = self.sent.pop_front().unwrap_or_default().1;
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once() {
        let mut reports = AckReports::default();
        let report = |blocks| Report {
            blocks,
            offer: None,
        };
        let numbers = [3, 5, 7].map(|from| reports.keep(report(vec![(from, from + 1)])));
        assert_eq!(reports.of(numbers[1]).unwrap().blocks, [(5, 6)]);
        // the first was lost
        assert_eq!(reports.take(numbers[1]).blocks, [(5, 6)]);
        assert!(reports.of(numbers[0]).is_none() && reports.of(numbers[1]).is_none());
        assert_eq!(reports.of(numbers[2]).unwrap().blocks, [(7, 8)]);
        assert_eq!(reports.take(numbers[2]).blocks, [(7, 8)]);
        assert!(reports.take(numbers[2]).blocks.is_empty());
        assert!(!numbers.contains(&reports.keep(report(Vec::new()))));
    }
}
