//! A flow's private access link: a FIFO that nobody else uses, in closed form.

use std::collections::VecDeque;

use ackclock_scenario::Capacity;

use crate::link::schedule::NEVER_PS;

/// A private FIFO with a rate and perhaps a limited queue. Departures are known at arrival.
#[derive(Debug)]
pub(crate) struct Access {
    /// When the transmitter is free again.
    pub(crate) free: u64,
    /// Time to transmit `size` bytes, ps.
    time: u64,
    size: u32,
    /// bit/s.
    rate: f64,
    queue: Option<Box<Queue>>,
}

/// Waiting packets; kept only where a limit needs it.
#[derive(Debug)]
struct Queue {
    capacity: Capacity,
    /// Starts of transmission and sizes.
    waiting: VecDeque<(u64, u32)>,
    bytes: u64,
}

impl Access {
    pub(crate) fn new(rate: f64, capacity: Capacity) -> Self {
        Self {
            free: 0,
            time: 0,
            size: 0,
            rate,
            queue: (capacity != Capacity::Unlimited).then(|| {
                Box::new(Queue {
                    capacity,
                    waiting: VecDeque::new(),
                    bytes: 0,
                })
            }),
        }
    }

    /// Whether it drops what finds its queue full.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.queue.is_some()
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, size: u32) {
        (self.size, self.time) = (size, transmission(size, self.rate));
    }

    /// Another rate from now on (for packets that arrive from now on).
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
        self.size = 0;
    }

    /// A packet arrives at `now`: when it has left, or `None` if it finds the queue full.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64, size: u32) -> Option<u64> {
        let start = self.free.max(now);
        if let Some(queue) = &mut self.queue
            && !queue.admits(now, start, size)
        {
            return None;
        }
        if self.size != size {
            self.look_up(size);
        }
        self.free = (start + self.time).min(NEVER_PS);
        Some(self.free)
    }
}

impl Queue {
    /// Whether there is room for a packet that arrives at `now` and starts at `start`; it is then
    /// among what waits.
    #[inline(never)]
    fn admits(&mut self, now: u64, start: u64, size: u32) -> bool {
        while let Some(&(begin, bytes)) = self.waiting.front() {
            if begin > now {
                break;
            }
            self.bytes -= u64::from(bytes);
            self.waiting.pop_front();
        }
        let full = match self.capacity {
            Capacity::Packets(limit) => self.waiting.len() >= limit as usize,
            Capacity::Bytes(limit) => self.bytes + u64::from(size) > limit,
            Capacity::Unlimited => false,
        };
        if start > now {
            if full {
                return false;
            }
            self.waiting.push_back((start, size));
            self.bytes += u64::from(size);
        }
        true
    }
}

/// Time to transmit `size` bytes at `rate` bit/s, ps.
pub(crate) fn transmission(size: u32, rate: f64) -> u64 {
    (f64::from(size) * 8e12 / rate + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_spread_and_its_excess_dropped() {
        let mut access = Access::new(12e6, Capacity::Packets(2)); // 1500 B take 1 ms
        let ms = 1_000_000_000;
        assert_eq!(access.offer(0, 1500), Some(ms));
        assert_eq!(access.offer(0, 1500), Some(2 * ms));
        assert_eq!(access.offer(0, 1500), Some(3 * ms));
        assert_eq!(access.offer(0, 1500), None);
        assert_eq!(access.offer(ms, 1500), Some(4 * ms));
        assert_eq!(access.offer(9 * ms, 750), Some(9 * ms + ms / 2));
    }

    #[test]
    fn queues_of_months_end_never() {
        let mut access = Access::new(1.0, Capacity::Unlimited);
        for packet in 1..100_u64 {
            let end = packet.saturating_mul(524_280_000_000_000_000).min(NEVER_PS);
            assert_eq!(access.offer(0, 65_535), Some(end));
        }
    }

    #[test]
    fn bytes_limit_too() {
        let mut access = Access::new(12e6, Capacity::Bytes(1600));
        assert!(access.offer(0, 1500).is_some());
        assert!(access.offer(0, 1500).is_some());
        assert!(access.offer(0, 200).is_none());
        assert!(access.offer(0, 100).is_some());
    }
}
