//! The delay line: what was sent, and when it comes back.

/// The fates of packets at the queue in one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueStep {
    /// Packets that entered the queue, all classes and unresponsive traffic.
    pub(crate) accepted: f64,
    /// Packets that left it.
    pub(crate) served: f64,
    /// Fraction of arrivals that were dropped or marked.
    pub(crate) signals: f64,
}

/// A ring of the last steps that grows when it must.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    values: Vec<T>,
    mask: u64,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Self {
        Self {
            values: vec![T::default(); 1024],
            mask: 1023,
        }
    }

    #[inline]
    pub(crate) fn get(&self, step: u64) -> &T {
        &self.values[(step & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, step: u64) -> &mut T {
        &mut self.values[(step & self.mask) as usize]
    }

    /// Stores the value of `step`; everything from `oldest` on is kept.
    #[inline]
    pub(crate) fn put(&mut self, step: u64, value: T, oldest: u64) {
        if step - oldest >= self.mask {
            self.grow(step, oldest);
        }
        self.values[(step & self.mask) as usize] = value;
    }

    #[cold]
    fn grow(&mut self, step: u64, oldest: u64) {
        let length = 2 * self.values.len();
        let mut values = vec![T::default(); length];
        for kept in oldest..step {
            values[kept as usize & (length - 1)] = *self.get(kept);
        }
        self.values = values;
        self.mask = length as u64 - 1;
    }
}

/// The packets that a class sent in one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Packets that arrived at the queue.
    pub(crate) packets: f64,
    /// Packets sent over the packets in flight then: the round trips that their return is worth.
    pub(crate) rounds: f64,
}

/// The ACKs that come back to a class in one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Returned {
    /// Packets, the lost ones included.
    pub(crate) packets: f64,
    /// Round trips of growth.
    pub(crate) rounds: f64,
    /// Round trips times the fraction of signals.
    pub(crate) losses: f64,
}

/// The delay line of one class: from the sender through the queue and back.
///
/// A packet that enters the queue in step k leaves it when the link has sent all that was accepted
/// before, and is back one base round trip later. This solves `R(t) = T + Q(t - R(t))` without
/// iteration: what the link sent up to `t - T` came in the order of arrival, and is looked up in
/// the record of arrivals. Within a step all rates are constant.
#[derive(Clone, Debug)]
pub(crate) struct DelayLine {
    sent: Ring<Sent>,
    /// Base round trip, in steps.
    lag: f64,
    /// Up to here the link's output has been looked at: a step and the part of it, 0 to 1.
    output: (u64, f64),
    /// Up to here arrivals have come back.
    input: (u64, f64),
    /// Output that is not yet matched with arrivals: rounding only.
    carry: f64,
}

impl DelayLine {
    pub(crate) fn new(lag: f64) -> Self {
        Self {
            sent: Ring::new(),
            lag,
            output: (0, 0.0),
            input: (0, 0.0),
            carry: 0.0,
        }
    }

    pub(crate) fn set_lag(&mut self, lag: f64) {
        self.lag = lag;
    }

    /// How many steps ago the last that came back was sent, in step `now`.
    #[inline]
    pub(crate) fn age(&self, now: u64) -> f64 {
        (now + 1 - self.input.0) as f64 - self.input.1
    }

    /// The oldest step that is still needed.
    pub(crate) fn oldest(&self) -> u64 {
        self.input.0.min(self.output.0)
    }

    #[inline]
    pub(crate) fn put(&mut self, step: u64, sent: Sent) {
        self.sent.put(step, sent, self.input.0);
    }

    /// The ACKs that come back in step `now`.
    #[inline]
    pub(crate) fn collect(&mut self, now: u64, queue_steps: &Ring<QueueStep>) -> Returned {
        let mut back = Returned::default();
        let target = (now + 1) as f64 - self.lag;
        if target <= 0.0 {
            return back;
        }
        let until = (target as u64, target - libm::floor(target));
        // a base round trip that has just grown: nothing comes back until time has caught up
        if until.0 < self.output.0 || (until.0 == self.output.0 && until.1 <= self.output.1) {
            return back;
        }
        let mut amount = self.carry;
        while self.output.0 < until.0 {
            amount += queue_steps.get(self.output.0).served * (1.0 - self.output.1);
            self.output = (self.output.0 + 1, 0.0);
        }
        amount += queue_steps.get(self.output.0).served * (until.1 - self.output.1);
        self.output.1 = until.1;
        // first in, first out; what arrived later than `until` cannot have left before
        loop {
            let (step, part) = self.input;
            let accepted = queue_steps.get(step).accepted;
            let rest = accepted * (1.0 - part);
            let (end, taken) = if step < until.0 {
                if amount >= rest {
                    (1.0, rest)
                } else {
                    (part + amount / accepted, amount)
                }
            } else {
                let limit = accepted * (until.1 - part);
                if amount >= limit {
                    (until.1.max(part), limit.max(0.0))
                } else {
                    (part + amount / accepted, amount)
                }
            };
            let share = end - part;
            let sent = self.sent.get(step);
            back.packets += sent.packets * share;
            back.rounds += sent.rounds * share;
            back.losses += sent.rounds * share * queue_steps.get(step).signals;
            amount -= taken;
            if end >= 1.0 && step < until.0 {
                self.input = (step + 1, 0.0);
            } else {
                self.input.1 = end;
                break;
            }
        }
        self.carry = amount;
        back
    }

    /// Lets go of everything before `step`, whether it came back or not.
    pub(crate) fn forget_before(&mut self, step: u64) {
        self.output = (step, 0.0);
        self.input = (step, 0.0);
    }

    /// Packets on the way, counted one step after the other, before step `now`.
    pub(crate) fn in_flight(&self, now: u64) -> f64 {
        let mut sum = 0.0;
        for step in self.input.0..now {
            let part = if step == self.input.0 {
                1.0 - self.input.1
            } else {
                1.0
            };
            sum += self.sent.get(step).packets * part;
        }
        sum
    }

    /// Forgets a part of what is on the way: it will come back to flows that are no more.
    pub(crate) fn scale(&mut self, now: u64, factor: f64) {
        for step in self.input.0..now {
            let sent = self.sent.get_mut(step);
            sent.packets *= factor;
        }
    }
}
