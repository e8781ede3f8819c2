//! A sender's events as qlog: JSON text sequences (RFC 7464) of version 0.3, which qvis opens.
//!
//! qlog has no schema of TCP. A segment is shown as a packet of QUIC whose number says the how
//! many-eth transmission it is, with one stream whose bytes are the connection's; an ACK as the
//! packet with an ACK frame of the transmissions that it acknowledges for the first time; and the
//! state of the sender as `recovery:metrics_updated`.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Begins a record (RFC 7464, section 2.2).
const RECORD: char = '\x1e';
/// Transmission of a segment that is acknowledged.
const ACKNOWLEDGED_SEGMENT: u64 = u64::MAX;

/// State of a sender after an event; times in ps, windows in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) window: u64,
    /// `u64::MAX`: none.
    pub(crate) ssthresh: u64,
    pub(crate) in_flight: u64,
    /// 0: no sample yet.
    pub(crate) smoothed_rtt: u64,
    pub(crate) min_rtt: u64,
    pub(crate) latest_rtt: u64,
    /// Bit/s; 0 without pacing.
    pub(crate) pacing_rate: u64,
    pub(crate) state: &'static str,
}

/// The log of one sender.
pub(crate) struct SenderLog {
    pub(crate) flow: usize,
    text: String,
    known: Option<Metrics>,
    /// Transmissions so far, and ACKs.
    sent: u64,
    acks: u64,
    /// Last transmission of the segments from `base` on.
    transmissions: VecDeque<u64>,
    base: u64,
}

/// JSON's form of a string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if (letter as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// A time in ms with all digits that a picosecond needs.
fn milliseconds(time: u64) -> String {
    format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000)
}

impl SenderLog {
    pub(crate) fn new(flow: usize, title: &str, description: &str) -> Self {
        let (title, description) = (quoted(title), quoted(description));
        let text = format!(
            "{RECORD}{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":{title},\
             \"description\":{description},\"trace\":{{\"title\":{title},\"vantage_point\":\
             {{\"name\":\"ackclock\",\"type\":\"server\"}},\"common_fields\":{{\"time_format\":\
             \"relative\",\"reference_time\":0,\"protocol_type\":[\"TCP\"]}}}}}}\n"
        );
        Self {
            flow,
            text,
            known: None,
            sent: 0,
            acks: 0,
            transmissions: VecDeque::new(),
            base: 0,
        }
    }

    /// Takes what is written, if it is at least `bytes` long.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        (self.text.len() >= bytes.max(1)).then(|| std::mem::take(&mut self.text).into_bytes())
    }

    fn event(&mut self, time: u64, name: &str, data: &str) {
        let _ = writeln!(
            self.text,
            "{RECORD}{{\"time\":{},\"name\":\"{name}\",\"data\":{{{data}}}}}",
            milliseconds(time)
        );
    }

    /// A segment leaves: its payload begins at `offset`.
    pub(crate) fn sent(&mut self, time: u64, seq: u64, offset: u64, payload: u32, size: u32) {
        let number = self.sent;
        self.sent += 1;
        let place = seq.saturating_sub(self.base) as usize;
        if place >= self.transmissions.len() {
            self.transmissions.resize(place + 1, ACKNOWLEDGED_SEGMENT);
        }
        self.transmissions[place] = number;
        let data = format!(
            "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\
             \"raw\":{{\"length\":{size},\"payload_length\":{payload}}},\"frames\":\
             [{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{offset},\"length\":{payload}}}]"
        );
        self.event(time, "transport:packet_sent", &data);
    }

    /// An ACK arrives: everything below `cumulative` and these segments have.
    pub(crate) fn acknowledged(
        &mut self,
        time: u64,
        cumulative: u64,
        blocks: &[(u64, u64)],
        size: u32,
    ) {
        let mut numbers = Vec::new();
        for &(from, to) in blocks {
            for seq in from.max(self.base)..to {
                if let Some(number) = self.transmissions.get_mut((seq - self.base) as usize) {
                    numbers.push(std::mem::replace(number, ACKNOWLEDGED_SEGMENT));
                }
            }
        }
        while self.base < cumulative
            && let Some(number) = self.transmissions.pop_front()
        {
            self.base += 1;
            numbers.push(number);
        }
        self.base = self.base.max(cumulative);
        numbers.retain(|number| *number != ACKNOWLEDGED_SEGMENT);
        numbers.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        let ranges: Vec<String> = ranges
            .iter()
            .map(|(from, to)| format!("[{from},{to}]"))
            .collect();
        let frames = if ranges.is_empty() {
            String::new()
        } else {
            format!(
                "{{\"frame_type\":\"ack\",\"acked_ranges\":[{}]}}",
                ranges.join(",")
            )
        };
        let data = format!(
            "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{}}},\
             \"raw\":{{\"length\":{size}}},\"frames\":[{frames}]",
            self.acks
        );
        self.acks += 1;
        self.event(time, "transport:packet_received", &data);
    }

    /// Writes what of the sender's state has changed.
    pub(crate) fn metrics(&mut self, time: u64, now: &Metrics) {
        let old = self.known.replace(*now);
        let mut data = Vec::new();
        let mut number = |key: &str, value: u64, before: Option<u64>| {
            if before != Some(value) {
                data.push(format!("\"{key}\":{value}"));
            }
        };
        let field = |get: fn(&Metrics) -> u64| (get(now), old.as_ref().map(get));
        let (value, before) = field(|metrics| metrics.window);
        number("congestion_window", value, before);
        let (value, before) = field(|metrics| metrics.in_flight);
        number("bytes_in_flight", value, before);
        if now.ssthresh != u64::MAX {
            let (value, before) = field(|metrics| metrics.ssthresh);
            number("ssthresh", value, before);
        }
        if now.pacing_rate != 0 {
            let (value, before) = field(|metrics| metrics.pacing_rate);
            number("pacing_rate", value, before);
        }
        let times = [
            ("smoothed_rtt", field(|metrics| metrics.smoothed_rtt)),
            ("min_rtt", field(|metrics| metrics.min_rtt)),
            ("latest_rtt", field(|metrics| metrics.latest_rtt)),
        ];
        for (key, (value, before)) in times {
            if value != 0 && before != Some(value) {
                data.push(format!("\"{key}\":{}", milliseconds(value)));
            }
        }
        if !data.is_empty() {
            self.event(time, "recovery:metrics_updated", &data.join(","));
        }
        let before = old.map(|metrics| metrics.state);
        if before != Some(now.state) {
            let from = before.map_or(String::new(), |state| format!("\"old\":\"{state}\","));
            let data = format!("{from}\"new\":\"{}\"", now.state);
            self.event(time, "recovery:congestion_state_updated", &data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_names_transmissions_once() {
        let mut log = SenderLog::new(0, "a \"title\"", "");
        for seq in [0, 1, 2, 3, 1] {
            log.sent(1_500_000_000, seq, seq * 1460, 1460, 1500);
        }
        log.take(0);
        log.acknowledged(2_000_000_000, 1, &[(2, 4)], 40);
        log.acknowledged(2_000_000_000, 4, &[], 40);
        let text = String::from_utf8(log.take(0).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].contains("\"acked_ranges\":[[0,0],[2,3]]"),
            "{text}"
        );
        assert!(
            lines[1].contains("\"acked_ranges\":[[4,4]]"),
            "the second transmission of segment 1: {text}"
        );
        assert!(lines[0].starts_with("\x1e{\"time\":2.000000000,"));
    }

    #[test]
    fn only_changes_are_written() {
        let mut log = SenderLog::new(0, "", "");
        let metrics = Metrics {
            window: 14_600,
            ssthresh: u64::MAX,
            state: "slow_start",
            ..Metrics::default()
        };
        log.metrics(0, &metrics);
        log.take(0);
        log.metrics(1, &metrics);
        assert!(log.take(0).is_none());
        log.metrics(
            2,
            &Metrics {
                ssthresh: 7300,
                state: "recovery",
                ..metrics
            },
        );
        let text = String::from_utf8(log.take(0).unwrap()).unwrap();
        assert!(text.contains("\"data\":{\"ssthresh\":7300}"), "{text}");
        assert!(text.contains("\"old\":\"slow_start\",\"new\":\"recovery\""));
    }
}
