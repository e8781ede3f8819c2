//! Careful Resume (RFC 9959): a window that is half of an earlier connection's, taken on after the
//! initial window has come through.
//!
//! Its four phases are those of the RFC's section 4. What is sent of the larger window is paced over
//! a round trip; it counts once ACKs show that it has come through, and a loss or a mark before that
//! halves what has.
//!
//! Deviation from RFC 9959, section 4: what is known of a path neither grows old nor is forgotten
//! after a retreat, and no connection of the run saves it for another; every flow of the class has
//! what the scenario says.

use ackclock_algorithms::Time;

use super::{AckSummary, Config, Sender};

/// A round trip is the path's within these factors.
const LEAST_RTT: f64 = 0.5;
const MOST_RTT: f64 = 10.0;
/// Share of the saved window that is taken on.
const JUMP_SHARE: f64 = 0.5;
/// Share of what has come through that is left of the window by congestion; ssthresh is the same
/// share of all that did.
const RETREAT_SHARE: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The initial window is on its way.
    Reconnaissance,
    /// More than has ever come through here is sent: from segment `first` on, since `begin`, at
    /// `rate` segments/s.
    Unvalidated { first: u64, begin: u64, rate: f64 },
    /// All below `last` is sent, and is to come through.
    Validating { last: u64 },
    /// Something of it was lost or marked.
    Retreat { last: u64 },
}

/// State of a flow that resumes.
#[derive(Debug)]
pub(super) struct Resume {
    /// The earlier connection's window and round trip, ps.
    window: f64,
    rtt: u64,
    phase: Phase,
    /// Segments that the path is known to hold.
    pipe: f64,
}

impl Resume {
    pub(super) fn new((window, rtt): (f64, u64)) -> Self {
        Self {
            window,
            rtt,
            phase: Phase::Reconnaissance,
            pipe: 0.0,
        }
    }

    /// At which the unvalidated segments leave, segments/s.
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        match self.phase {
            Phase::Unvalidated { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// Whether a round trip of `rtt` ps may be that of the path.
    fn knows(&self, rtt: u64) -> bool {
        let share = rtt as f64 / self.rtt as f64;
        (LEAST_RTT..=MOST_RTT).contains(&share)
    }
}

impl Sender {
    /// Applies an ACK to a flow that resumes; its window has been set without it.
    #[cold]
    #[inline(never)]
    pub(super) fn follow_resume(&mut self, summary: &AckSummary, config: &Config) {
        let Some(mut resume) = self.resume.take() else {
            return;
        };
        let delivered = summary.acked + u64::from(summary.sacked) - u64::from(summary.known);
        resume.pipe += delivered as f64;
        // until now: what is sent of the larger window is at most that
        let flight = summary.before as f64;
        let over = match resume.phase {
            Phase::Reconnaissance => {
                let troubled = !self.state.is_open() || self.ecn.reacts_from() > 0;
                if troubled || (self.una as f64) < config.initial_window {
                    troubled
                } else {
                    !self.jump(&mut resume, summary.now)
                }
            }
            Phase::Unvalidated { first, begin, rate } => {
                let jump = JUMP_SHARE * resume.window;
                let passed = summary.now - begin > Time::from_seconds(jump / rate).0;
                if self.una > first || passed || flight >= jump {
                    self.window.cwnd = flight.max(resume.pipe);
                    resume.phase = Phase::Validating { last: self.next };
                    flight <= resume.pipe
                } else {
                    self.window.cwnd = jump;
                    false
                }
            }
            Phase::Validating { last } => self.una >= last,
            Phase::Retreat { last } => {
                let over = self.una >= last;
                if over {
                    self.window.ssthresh = RETREAT_SHARE * resume.pipe;
                }
                over
            }
        };
        if !over {
            self.resume = Some(resume);
        }
    }

    /// The initial window has come through: true if the larger one is taken on.
    fn jump(&mut self, resume: &mut Resume, now: u64) -> bool {
        let jump = JUMP_SHARE * resume.window;
        let more = self.next < self.written;
        if !resume.knows(self.rtt.min_rtt) || jump <= self.window.cwnd || !more {
            return false;
        }
        resume.pipe = (self.next - self.una) as f64;
        resume.phase = Phase::Unvalidated {
            first: self.next,
            begin: now,
            rate: jump / Time(self.rtt.srtt).seconds(),
        };
        self.window.cwnd = jump;
        self.pacer.release(now);
        true
    }

    /// The window comes down for congestion in a flow that resumes.
    #[cold]
    #[inline(never)]
    pub(super) fn retreat(&mut self, config: &Config) {
        let Some(resume) = &mut self.resume else {
            return;
        };
        let last = match resume.phase {
            Phase::Unvalidated { .. } => self.next,
            Phase::Validating { last } => last,
            Phase::Reconnaissance | Phase::Retreat { .. } => return,
        };
        resume.phase = Phase::Retreat { last };
        let window = (RETREAT_SHARE * resume.pipe).max(config.initial_window);
        self.window.cwnd = self.window.cwnd.min(window);
        self.window.ssthresh = self.window.ssthresh.min(window);
    }
}
