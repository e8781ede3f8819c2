//! Hierarchical fair service curve.
//!
//! A leaf with a real-time curve is promised the service of that curve: its packets get deadlines,
//! and those that are eligible go in the order of deadlines, whatever the hierarchy. What is left is
//! shared by the hierarchy: from the root down, the class with the least virtual time among those
//! with packets that their upper limits do not hold back. Curves have two pieces: `m1` for a time
//! `d` from when a class becomes active, then `m2`; a first piece steeper than the second one gives a
//! class a low delay for a small rate.
//!
//! A deadline needs the size of the first packet. As in Linux that packet leaves a real-time leaf's
//! queue as soon as it is the first, not in its turn: a queue that judges packets at their departure
//! (CoDel) judges it one packet earlier than in a leaf without a real-time curve.

use std::collections::BTreeSet;

use super::{ClassAlgorithm, ClassScheduler, Declared, Turn};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::scheduler::Backlog;
use crate::{Interval, Time, ValueError, parameters};

parameters! {
    /// All parameters are those of the classes.
    pub struct HfscParams {}
}

parameters! {
    /// A class of the hierarchical fair service curve: `rt` real-time, `ls` link-sharing, `ul` upper
    /// limit. A curve whose rates are zero is not there.
    pub struct HfscClassParams {
        /// First slope of the real-time curve; leaves only.
        rt_m1: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): rt m1";
        /// How long the first slope holds.
        rt_d: time = 0.0, in Interval::between(0.0, 60.0), "Linux, tc-hfsc(8): rt d";
        /// Second slope of the real-time curve: the rate that is guaranteed.
        rt_m2: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): rt m2";
        /// First slope of the link-sharing curve.
        ls_m1: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): ls m1";
        /// How long the first slope holds.
        ls_d: time = 0.0, in Interval::between(0.0, 60.0), "Linux, tc-hfsc(8): ls d";
        /// Second slope of the link-sharing curve: shares are in proportion to it.
        ls_m2: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): ls m2";
        /// First slope of the upper limit.
        ul_m1: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): ul m1";
        /// How long the first slope holds.
        ul_d: time = 0.0, in Interval::between(0.0, 60.0), "Linux, tc-hfsc(8): ul d";
        /// Second slope of the upper limit on link-sharing.
        ul_m2: rate = 0.0, in Interval::at_least(0.0), "Linux, tc-hfsc(8): ul m2";
    }
}

impl Algorithm for HfscParams {
    const ABOUT: About = About {
        kind: "hfsc",
        title: "Hierarchical fair service curve",
        summary: "Leaves are promised service curves, with deadlines; what is left is shared along the hierarchy by virtual times, up to upper limits.",
        citation: "I. Stoica, H. Zhang and T. S. E. Ng, A hierarchical fair service curve algorithm for link-sharing, real-time, and priority services, IEEE/ACM Transactions on Networking 8(2), 2000; Linux, tc-hfsc(8)",
        ecn: false,
    };
}

impl HfscClassParams {
    fn curves(&self) -> [Option<Curve>; 3] {
        [
            (self.rt_m1, self.rt_d, self.rt_m2),
            (self.ls_m1, self.ls_d, self.ls_m2),
            (self.ul_m1, self.ul_d, self.ul_m2),
        ]
        .map(|(m1, d, m2)| {
            (m1 > 0.0 || m2 > 0.0).then(|| Curve {
                x: 0.0,
                y: 0.0,
                dx: d,
                dy: m1 / 8.0 * d,
                m1: m1 / 8.0,
                m2: m2 / 8.0,
            })
        })
    }
}

impl ClassAlgorithm for HfscParams {
    type Class = HfscClassParams;
    type Scheduler = Hfsc;

    const LEVELS: usize = 16;

    fn check_class(class: &HfscClassParams, leaf: bool) -> Result<(), ValueError> {
        let [real_time, sharing, limit] = class.curves();
        if real_time.is_none() && sharing.is_none() {
            return Err(inconsistent(
                "ls_m2",
                0.0,
                "a real-time or a link-sharing curve".to_owned(),
            ));
        }
        if real_time.is_some() && !leaf {
            let rate = class.rt_m2;
            return Err(inconsistent(
                "rt_m2",
                rate,
                "a real-time curve at leaves only".to_owned(),
            ));
        }
        if limit.is_some() && sharing.is_none() {
            let rate = class.ul_m2;
            return Err(inconsistent(
                "ul_m2",
                rate,
                "an upper limit beside a link-sharing curve".to_owned(),
            ));
        }
        Ok(())
    }

    fn class_rate(&self, class: &HfscClassParams) -> Option<f64> {
        (class.ul_m2 > 0.0).then_some(class.ul_m2)
    }

    fn build(&self, classes: &[Declared<HfscClassParams>]) -> Hfsc {
        let root = classes.len();
        let mut built: Vec<Class> = classes
            .iter()
            .map(|declared| {
                let [real_time, sharing, limit] = declared.params.curves();
                Class::new(
                    Some(declared.parent.unwrap_or(root)),
                    real_time,
                    sharing,
                    limit,
                )
            })
            .collect();
        built.push(Class::new(None, None, None, None));
        Hfsc {
            classes: built,
            eligible: BTreeSet::new(),
            unseen: Vec::new(),
            real_time: false,
        }
    }
}

/// Two pieces of a line, in bytes over seconds, from (x, y) on.
#[derive(Clone, Copy, Debug)]
struct Curve {
    x: f64,
    y: f64,
    dx: f64,
    dy: f64,
    /// Slopes, B/s.
    m1: f64,
    m2: f64,
}

impl Curve {
    /// The time at which it reaches `y`.
    fn time_of(&self, y: f64) -> f64 {
        if y < self.y {
            self.x
        } else if y <= self.y + self.dy {
            if self.dy == 0.0 {
                self.x + self.dx
            } else {
                self.x + (y - self.y) / self.m1
            }
        } else if self.m2 == 0.0 {
            f64::INFINITY
        } else {
            self.x + self.dx + (y - self.y - self.dy) / self.m2
        }
    }

    /// Its value at time `x`.
    fn value_at(&self, x: f64) -> f64 {
        if x <= self.x {
            self.y
        } else if x <= self.x + self.dx {
            self.y + (x - self.x) * self.m1
        } else {
            self.y + self.dy + (x - self.x - self.dx) * self.m2
        }
    }

    /// The lesser of itself and `other` (a service curve) shifted to (x, y): figure 8 of the paper.
    fn limit_by(&mut self, other: &Self, x: f64, y: f64) {
        let own = self.value_at(x);
        if other.m1 <= other.m2 {
            if own >= y {
                (self.x, self.y) = (x, y);
            }
            return;
        }
        if own <= y {
            return; // below it from there on
        }
        if self.value_at(x + other.dx) >= y + other.dy {
            *self = Self { x, y, ..*other };
            return;
        }
        // they meet on the first piece of the other
        let mut dx = (own - y) / (other.m1 - other.m2);
        if self.x + self.dx > x {
            dx += self.x + self.dx - x;
        }
        *self = Self {
            x,
            y,
            dx,
            dy: dx * other.m1,
            ..*self
        };
    }
}

/// A time as a key: times are never negative, so that their bits are in their order.
fn key(time: f64) -> u64 {
    time.max(0.0).to_bits()
}

#[derive(Clone, Debug)]
struct Class {
    parent: Option<usize>,
    /// The curves that it was given.
    real_time: Option<Curve>,
    sharing: Option<Curve>,
    limit: Option<Curve>,
    /// The same, from when it became active.
    deadline: Option<Curve>,
    eligibility: Option<Curve>,
    virtual_curve: Option<Curve>,
    limit_curve: Option<Curve>,
    /// Bytes sent by the real-time criterion, and in all.
    cumulative: f64,
    total: f64,
    /// Eligible time and deadline of the first packet.
    e: f64,
    d: f64,
    /// Virtual time, and what has been added to it to keep up with its siblings.
    vt: f64,
    vt_added: f64,
    /// The earliest time that its own upper limit and those below allow.
    fit: f64,
    own_fit: f64,
    /// Among its children: the least virtual time chosen so far in this backlog period, the largest at
    /// which one became passive, and the least fit time.
    vt_least: f64,
    vt_last: f64,
    fit_least: f64,
    /// Backlog periods: its own, and its parent's when it became active last.
    period: u64,
    parent_period: u64,
    /// Active children; of a leaf, 1 while it has packets.
    active: u32,
    /// Active children by virtual time and by fit time.
    children: BTreeSet<(u64, usize)>,
    fits: BTreeSet<(u64, usize)>,
    /// Whether it stands in the set of eligible times.
    listed: bool,
}

impl Class {
    fn new(
        parent: Option<usize>,
        real_time: Option<Curve>,
        sharing: Option<Curve>,
        limit: Option<Curve>,
    ) -> Self {
        let eligibility = real_time.map(|curve| {
            if curve.m1 <= curve.m2 {
                Curve {
                    dx: 0.0,
                    dy: 0.0,
                    ..curve
                }
            } else {
                curve
            }
        });
        Self {
            parent,
            real_time,
            sharing,
            limit,
            deadline: real_time,
            eligibility,
            virtual_curve: sharing,
            limit_curve: limit,
            cumulative: 0.0,
            total: 0.0,
            e: 0.0,
            d: 0.0,
            vt: 0.0,
            vt_added: 0.0,
            fit: 0.0,
            own_fit: 0.0,
            vt_least: 0.0,
            vt_last: 0.0,
            fit_least: 0.0,
            period: 0,
            parent_period: 0,
            active: 0,
            children: BTreeSet::new(),
            fits: BTreeSet::new(),
            listed: false,
        }
    }
}

/// The hierarchical fair service curve at work.
#[derive(Debug)]
pub struct Hfsc {
    /// The declared classes and, last, the root above them.
    classes: Vec<Class>,
    /// Leaves with packets and a real-time curve, by eligible time.
    eligible: BTreeSet<(u64, usize)>,
    /// Classes whose first packet has a size that is not known yet; some may be listed no longer.
    unseen: Vec<usize>,
    /// Whether the class chosen last was chosen by its deadline.
    real_time: bool,
}

impl Hfsc {
    fn root(&self) -> usize {
        self.classes.len() - 1
    }

    fn list(&mut self, class: usize, listed: bool) {
        let state = &mut self.classes[class];
        if state.listed {
            self.eligible.remove(&(key(state.e), class));
        }
        state.listed = listed;
    }

    /// Sets the eligible time and the deadline of a packet of `size` bytes that is first now.
    fn set_times(&mut self, class: usize, size: u32, eligible_too: bool) {
        self.list(class, false);
        let state = &mut self.classes[class];
        if let (Some(eligibility), Some(deadline)) = (&state.eligibility, &state.deadline) {
            if eligible_too {
                state.e = eligibility.time_of(state.cumulative);
            }
            state.d = deadline.time_of(state.cumulative + f64::from(size));
            self.eligible.insert((key(state.e), class));
            state.listed = true;
            if size == 0 {
                self.unseen.push(class);
            }
        }
    }

    /// A leaf with a real-time curve has become active.
    fn begin_real_time(&mut self, class: usize, now: f64, size: u32) {
        let state = &mut self.classes[class];
        let (Some(given), Some(deadline)) = (state.real_time, &mut state.deadline) else {
            return;
        };
        deadline.limit_by(&given, now, state.cumulative);
        let mut eligibility = *deadline;
        if given.m1 <= given.m2 {
            (eligibility.dx, eligibility.dy) = (0.0, 0.0);
        }
        state.eligibility = Some(eligibility);
        self.set_times(class, size, true);
    }

    fn place(&mut self, class: usize, vt: f64, fit: f64, active: bool) {
        let Some(parent) = self.classes[class].parent else {
            return;
        };
        let (old_vt, old_fit) = (key(self.classes[class].vt), key(self.classes[class].fit));
        let state = &mut self.classes[parent];
        state.children.remove(&(old_vt, class));
        state.fits.remove(&(old_fit, class));
        if active {
            state.children.insert((key(vt), class));
            state.fits.insert((key(fit), class));
        }
        state.fit_least = state
            .fits
            .first()
            .map_or(0.0, |(fit, _)| f64::from_bits(*fit));
        (self.classes[class].vt, self.classes[class].fit) = (vt, fit);
    }

    /// The fit time of a class, from its own limit and those below.
    fn fit_of(&self, class: usize) -> f64 {
        self.classes[class]
            .own_fit
            .max(self.classes[class].fit_least)
    }

    /// A leaf has become active: so do the classes above it that were not, and get virtual times.
    fn begin_sharing(&mut self, leaf: usize, now: f64) {
        let mut class = leaf;
        let mut begins = true;
        while let Some(parent) = self.classes[class].parent {
            if begins {
                begins = self.classes[class].active == 0;
                self.classes[class].active += 1;
            }
            if begins {
                let mut vt = self.classes[class].vt;
                let state = &self.classes[parent];
                if let Some((largest, _)) = state.children.last() {
                    // between its siblings
                    let mut middle = f64::from_bits(*largest);
                    if state.vt_least != 0.0 {
                        middle = 0.5 * (state.vt_least + middle);
                    }
                    if state.period != self.classes[class].parent_period || middle > vt {
                        vt = middle;
                    }
                } else {
                    // the first of a new backlog period of its parent
                    vt = state.vt_last;
                    self.classes[parent].vt_least = 0.0;
                }
                let parent_period =
                    self.classes[parent].period + u64::from(self.classes[parent].active == 0);
                let state = &mut self.classes[class];
                if let (Some(given), Some(curve)) = (state.sharing, &mut state.virtual_curve) {
                    curve.limit_by(&given, vt, state.total);
                }
                state.vt_added = 0.0;
                state.period += 1;
                state.parent_period = parent_period;
                if let (Some(given), Some(curve)) = (state.limit, &mut state.limit_curve) {
                    curve.limit_by(&given, now, state.total);
                    state.own_fit = curve.time_of(state.total);
                }
                let fit = self.fit_of(class);
                self.place(class, vt, fit, true);
            } else {
                let (vt, fit) = (self.classes[class].vt, self.fit_of(class));
                self.place(class, vt, fit, true);
            }
            class = parent;
        }
        if begins {
            let root = &mut self.classes[class];
            root.period += u64::from(root.active == 0);
            root.active += 1;
        }
    }

    /// A leaf has sent `size` bytes, or (0) has lost all its packets: virtual times go on.
    fn go_on(&mut self, leaf: usize, size: u32, empty: bool) {
        let mut ends = empty && self.classes[leaf].active > 0;
        let mut class = leaf;
        while let Some(parent) = self.classes[class].parent {
            self.classes[class].total += f64::from(size);
            if self.classes[class].sharing.is_none() || self.classes[class].active == 0 {
                class = parent;
                continue;
            }
            if ends {
                self.classes[class].active -= 1;
                ends = self.classes[class].active == 0;
            }
            let state = &mut self.classes[class];
            let mut vt = state.vt;
            if let Some(curve) = &state.virtual_curve {
                vt = curve.time_of(state.total) + state.vt_added;
            }
            // a class that was held back by its limit does not make up for that
            let least = self.classes[parent].vt_least;
            if vt < least {
                self.classes[class].vt_added += least - vt;
                vt = least;
            }
            let state = &mut self.classes[class];
            if let Some(curve) = &state.limit_curve {
                state.own_fit = curve.time_of(state.total);
            }
            if ends {
                let fit = self.classes[class].fit;
                self.place(class, vt, fit, false);
                self.classes[parent].vt_last = self.classes[parent].vt_last.max(vt);
            } else {
                let fit = self.fit_of(class);
                self.place(class, vt, fit, true);
            }
            class = parent;
        }
        if ends {
            let root = &mut self.classes[class];
            root.active = root.active.saturating_sub(1);
        }
    }

    /// The leaf that link-sharing serves at `now`.
    fn shared(&mut self, now: f64) -> Option<usize> {
        let mut class = self.root();
        if self.classes[class].fit_least > now {
            return None;
        }
        loop {
            let fits = |(_, child): &&(u64, usize)| self.classes[*child].fit <= now;
            let children = &self.classes[class].children;
            if children.is_empty() {
                return (class != self.root()).then_some(class);
            }
            let (vt, child) = *children.iter().find(fits)?;
            let least = &mut self.classes[class].vt_least;
            *least = least.max(f64::from_bits(vt));
            class = child;
        }
    }
}

impl ClassScheduler for Hfsc {
    fn joined(&mut self, now: Time, class: usize, backlog: &[Backlog]) {
        let state = &self.classes[class];
        if state.active > 0 || state.listed {
            return;
        }
        let now = now.seconds();
        if state.sharing.is_some() {
            self.begin_sharing(class, now);
        }
        // an unknown size counts as nothing until the packet waits in front
        self.begin_real_time(class, now, backlog[class].head);
    }

    fn next(&mut self, now: Time, backlog: &[Backlog]) -> Turn {
        let time = now.seconds();
        while let Some(class) = self.unseen.pop() {
            if self.classes[class].listed && backlog[class].head == 0 {
                self.unseen.push(class);
                return Turn::Peek(class);
            }
        }
        let ready = self.eligible.range(..=(key(time), usize::MAX));
        let ready: Vec<usize> = ready.map(|(_, class)| *class).collect();
        for &class in &ready {
            // its size may have become known since
            let state = &mut self.classes[class];
            if let Some(deadline) = &state.deadline {
                state.d = deadline.time_of(state.cumulative + f64::from(backlog[class].head));
            }
        }
        let earlier = |index: &usize, other: &usize| {
            self.classes[*index].d.total_cmp(&self.classes[*other].d)
        };
        if let Some(class) = ready.into_iter().min_by(earlier) {
            self.real_time = true;
            return Turn::Send(class);
        }
        self.real_time = false;
        if let Some(class) = self.shared(time) {
            return Turn::Send(class);
        }
        if backlog.iter().all(|class| class.packets == 0) {
            return Turn::Idle;
        }
        let root = &self.classes[self.root()];
        let fit = (!root.children.is_empty())
            .then_some(root.fit_least)
            .filter(|fit| *fit > time);
        // where no class below the root fits, the earliest of all is waited for
        let below = || {
            let active = self.classes.iter().filter(|class| !class.fits.is_empty());
            let times =
                active.flat_map(|class| class.fits.iter().map(|(fit, _)| f64::from_bits(*fit)));
            times.filter(|fit| *fit > time).min_by(f64::total_cmp)
        };
        let eligible = self.eligible.first().map(|(e, _)| f64::from_bits(*e));
        let waits = eligible
            .into_iter()
            .chain(fit.or_else(below))
            .min_by(f64::total_cmp);
        match waits {
            Some(at) if at.is_finite() => Turn::Wait(Time::from_seconds(at).max(Time(now.0 + 1))),
            _ => Turn::Idle,
        }
    }

    fn sent(&mut self, _now: Time, class: usize, size: u32, backlog: &[Backlog]) {
        let empty = backlog[class].packets == 0;
        if self.real_time {
            self.classes[class].cumulative += f64::from(size);
        }
        self.go_on(class, size, empty);
        if empty {
            self.list(class, false);
        } else if self.classes[class].real_time.is_some() {
            self.set_times(class, backlog[class].head, self.real_time);
        }
    }

    fn emptied(&mut self, _now: Time, class: usize) {
        self.go_on(class, 0, true);
        self.list(class, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::test::Queues;

    fn class(
        parent: Option<usize>,
        leaf: bool,
        params: HfscClassParams,
    ) -> Declared<HfscClassParams> {
        Declared {
            parent,
            leaf,
            params,
        }
    }

    const NONE: HfscClassParams = HfscClassParams {
        rt_m1: 0.0,
        rt_d: 0.0,
        rt_m2: 0.0,
        ls_m1: 0.0,
        ls_d: 0.0,
        ls_m2: 0.0,
        ul_m1: 0.0,
        ul_d: 0.0,
        ul_m2: 0.0,
    };

    fn shares(classes: &[Declared<HfscClassParams>], busy: &[usize]) -> Vec<f64> {
        let scheduler = HfscParams::default().build(classes);
        let window = (Time::from_seconds(1.0), Time::from_seconds(11.0));
        let sent = Queues::new(scheduler, classes.len()).saturate(busy, 1500, 10e6, window);
        sent.iter()
            .map(|bytes| *bytes as f64 * 8.0 / 10.0)
            .collect()
    }

    fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 0.005 * expected,
            "{value} and {expected}"
        );
    }

    fn sharing(rate: f64) -> HfscClassParams {
        HfscClassParams {
            ls_m2: rate,
            ..NONE
        }
    }

    #[test]
    fn shares_follow_the_slopes_at_each_level() {
        let classes = [
            class(None, false, sharing(3e6)),
            class(Some(0), true, sharing(1e6)),
            class(Some(0), true, sharing(3e6)),
            class(None, true, sharing(2e6)),
        ];
        let rates = shares(&classes, &[1, 2, 3]);
        near(rates[1], 1.5e6);
        near(rates[2], 4.5e6);
        near(rates[3], 4e6);
        let rates = shares(&classes, &[1, 3]);
        near(rates[1], 6e6);
    }

    #[test]
    fn real_time_goes_before_sharing_and_the_limit_binds() {
        let guaranteed = HfscClassParams {
            rt_m2: 6e6,
            ls_m2: 1e3,
            ..NONE
        };
        let classes = [
            class(None, true, guaranteed),
            class(None, true, sharing(9e6)),
        ];
        near(shares(&classes, &[0, 1])[0], 6e6);
        let limited = HfscClassParams {
            ul_m2: 2e6,
            ..sharing(5e6)
        };
        let classes = [class(None, true, limited), class(None, true, sharing(5e6))];
        let rates = shares(&classes, &[0, 1]);
        near(rates[0], 2e6);
        near(rates[1], 8e6);
        near(shares(&classes, &[0])[0], 2e6);
    }

    /// A concave curve of 10 Mbit/s for 1.6 ms, then 64 kbit/s, delivers a packet of 2000 B of a
    /// class that was silent within 1.6 ms and one packet of the others, where a line of 64 kbit/s
    /// would allow 250 ms.
    #[test]
    fn a_steep_first_slope_bounds_the_delay() {
        let voice = HfscClassParams {
            rt_m1: 10e6,
            rt_d: 0.0016,
            rt_m2: 64e3,
            ..NONE
        };
        let classes = [class(None, true, voice), class(None, true, sharing(9e6))];
        let mut queues = Queues::new(HfscParams::default().build(&classes), 2);
        for _ in 0..50 {
            queues.put(1, 1500);
        }
        for _ in 0..5 {
            assert_eq!(queues.take().map(|it| it.1), Some(1));
        }
        queues.put(0, 2000);
        assert_eq!(queues.take().map(|it| it.1), Some(0));
    }

    #[test]
    fn the_lesser_of_two_concave_curves() {
        let given = Curve {
            x: 0.0,
            y: 0.0,
            dx: 1.0,
            dy: 10.0,
            m1: 10.0,
            m2: 2.0,
        };
        let mut curve = given;
        // after 2 s, 10 B served of 12: from (2, 10) the old one leads by 2 and is below from there on
        curve.limit_by(&given, 2.0, 10.0);
        for x in [2.0, 2.1, 2.25, 2.5, 3.0, 5.0] {
            let old = given.value_at(x);
            let shifted = Curve {
                x: 2.0,
                y: 10.0,
                ..given
            }
            .value_at(x);
            assert!((curve.value_at(x) - old.min(shifted)).abs() < 1e-12, "{x}");
        }
    }
}
