//! Hierarchical token bucket.
//!
//! Each class has a bucket for its rate and one for its ceiling. Below its rate a class sends on its
//! own account; above, it borrows from its parent, which may borrow in turn; above its ceiling it
//! waits. A packet is taken from the buckets of its leaf and of all classes above it; on the way up
//! to the class that lends, rates are spared and only ceilings pay. A bucket may be overdrawn by a
//! packet: a class may send while its bucket is not below zero.
//!
//! Classes that may send on their own account go before those that borrow, lenders near the leaves
//! before those near the root; within a level the lowest priority number goes first, and classes of
//! equal priority take turns by deficit round robin with their quanta. The way of serving, the
//! wait queues and the order of charges are those of Linux.

use super::waiting::{NO_PLACE, Waiting};
use super::{ClassAlgorithm, ClassScheduler, Declared, Turn, sending_time};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::scheduler::Backlog;
use crate::{Interval, Time, ValueError, parameters};

/// Levels of classes, leaves included (TC_HTB_MAXDEPTH).
const LEVELS: usize = 8;
/// Priorities there are (TC_HTB_NUMPRIO).
const PRIORITY_COUNT: usize = 8;
/// Longest silence for which a bucket is filled, ps: a minute.
const MAX_FILL_PS: i64 = 60_000_000_000_000;

parameters! {
    /// Parameters of the hierarchical token bucket.
    pub struct HtbParams {
        /// Rate, in bytes per second, over the quantum of a class that is given none.
        r2q: number = 10.0, in Interval::between(1.0, 1e9), "Linux, tc-htb(8): r2q";
    }
}

parameters! {
    /// A class of the hierarchical token bucket.
    pub struct HtbClassParams {
        /// Rate that the class may send on its own account.
        rate: rate = required, in Interval::above(0.0), "Linux, tc-htb(8): rate";
        /// The most that it may send, with what it borrows. "rate": it never borrows.
        ceil: rate("rate") = word "rate", in Interval::above(0.0), "Linux, tc-htb(8): ceil";
        /// Bytes that may go at once above `rate` after a silence.
        burst: bytes = 1600.0, in Interval::between(1.0, 4e9), "Linux, tc-htb(8): burst; iproute2: one packet of 1600 B where the clock is fine";
        /// Bytes that may go at once above `ceil` after a silence.
        cburst: bytes = 1600.0, in Interval::between(1.0, 4e9), "Linux, tc-htb(8): cburst; iproute2, as burst";
        /// 0 to 7: classes with a lower number go first, on their own account and in borrowing.
        prio: number = 0.0, in Interval::between(0.0, 7.0), "Linux, tc-htb(8): prio";
        /// Bytes of a turn among classes of equal priority. "auto": `rate` over `r2q`, from 1000 B
        /// to 200,000 B.
        quantum: bytes("auto") = word "auto", in Interval::between(1.0, 1e9), "Linux, tc-htb(8): quantum";
    }
}

impl Algorithm for HtbParams {
    const ABOUT: About = About {
        kind: "htb",
        title: "Hierarchical token bucket",
        summary: "Classes with a guaranteed rate each, which borrow what others leave, up to a ceiling.",
        citation: "M. Devera, HTB Linux queuing discipline, 2002; Linux, tc-htb(8)",
        ecn: false,
    };
}

impl HtbClassParams {
    fn ceil(&self) -> f64 {
        self.ceil.or_else(|_| self.rate)
    }
}

impl ClassAlgorithm for HtbParams {
    type Class = HtbClassParams;
    type Scheduler = Htb;

    const LEVELS: usize = LEVELS;

    fn check_class(class: &HtbClassParams, _leaf: bool) -> Result<(), ValueError> {
        if class.ceil() < class.rate {
            let rate = class.rate;
            return Err(inconsistent(
                "ceil",
                class.ceil(),
                format!("at least rate, {rate} bit/s"),
            ));
        }
        if class.prio.fract() != 0.0 {
            return Err(inconsistent(
                "prio",
                class.prio,
                "a whole number from 0 to 7".to_owned(),
            ));
        }
        Ok(())
    }

    fn class_rate(&self, class: &HtbClassParams) -> Option<f64> {
        Some(class.ceil())
    }

    fn build(&self, classes: &[Declared<HtbClassParams>]) -> Htb {
        let mut levels = vec![0; classes.len()];
        for (class, declared) in classes.iter().enumerate().rev() {
            // inner classes without a parent are on top, as in Linux
            if !declared.leaf && declared.parent.is_none() {
                levels[class] = LEVELS - 1;
            } else if let Some(parent) = declared.parent {
                levels[parent] = levels[parent].max(levels[class] + 1);
            }
        }
        let auto = |rate: f64| (rate / 8.0 / self.r2q).floor().clamp(1000.0, 200_000.0);
        let built = |(class, declared): (usize, &Declared<HtbClassParams>)| {
            let params = &declared.params;
            let (most, most_of_ceil) = (
                sending_time(params.burst, params.rate),
                sending_time(params.cburst, params.ceil()),
            );
            Class {
                parent: declared.parent,
                level: levels[class],
                rate: params.rate,
                ceil: params.ceil(),
                most,
                most_of_ceil,
                tokens: most,
                tokens_of_ceil: most_of_ceil,
                charged: (0, 0, 0),
                filled: Time::ZERO,
                mode: Mode::Sends,
                prio: params.prio as usize,
                quantum: params.quantum.or_else(|_| auto(params.rate)) as i64,
                deficit: [0; LEVELS],
                active: 0,
                feeds: (!declared.leaf).then(Box::default),
            }
        };
        Htb {
            levels: levels.iter().fold(0, |mask, level| mask | 1 << level),
            classes: classes.iter().enumerate().map(built).collect(),
            rows: Default::default(),
            filled: [0; LEVELS],
            waiting: Default::default(),
            places: vec![NO_PLACE; classes.len()],
            busy: 0,
            chosen: (0, 0),
            resting: None,
        }
    }
}

/// Permission of a class to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Send on its own account.
    Sends,
    /// Send if its parent lends.
    Borrows,
    /// Wait: it is above its ceiling.
    Waits,
}

/// Classes that take turns: the first one from `at` on is next.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Ascending.
    members: Vec<usize>,
    at: usize,
}

impl Round {
    #[inline(always)]
    fn insert(&mut self, class: usize) {
        if self.members.is_empty() {
            self.members.push(class);
        } else if let Err(place) = self.members.binary_search(&class) {
            self.members.insert(place, class);
        }
    }

    #[inline(always)]
    fn remove(&mut self, class: usize) {
        if self.members[..] == [class] {
            self.members.clear();
        } else if let Ok(place) = self.members.binary_search(&class) {
            self.members.remove(place);
        }
    }

    /// The class whose turn it is. It keeps its turn: one before it that was away for a while, at
    /// its ceiling, waits until the turn has come round.
    #[inline(always)]
    fn current(&mut self) -> Option<usize> {
        let class = match self.members[..] {
            [only] if only >= self.at => only,
            [] | [_] => return None,
            _ => *self
                .members
                .get(self.members.partition_point(|class| *class < self.at))?,
        };
        self.at = class;
        Some(class)
    }
}

#[derive(Clone, Debug)]
struct Class {
    parent: Option<usize>,
    level: usize,
    rate: f64,
    ceil: f64,
    /// Full buckets, and what is in them, as the time in which it comes, ps.
    most: i64,
    most_of_ceil: i64,
    tokens: i64,
    tokens_of_ceil: i64,
    /// The size of the packet charged last, and the times it takes at the rate and the ceiling, ps.
    charged: (u32, i64, i64),
    /// When the buckets were last filled.
    filled: Time,
    mode: Mode,
    prio: usize,
    quantum: i64,
    deficit: [i64; LEVELS],
    /// The priorities in which it, or a class below that it lends to, has packets: a bit each.
    active: u8,
    /// In an inner class: the classes that borrow from it, by priority.
    feeds: Option<Box<[Round; PRIORITY_COUNT]>>,
}

impl Class {
    /// Its mode after `passed`, ps, and how long until that may change.
    #[inline(always)]
    fn mode_after(&self, passed: i64) -> (Mode, i64) {
        let of_ceil = self.tokens_of_ceil + passed;
        if of_ceil < 0 {
            return (Mode::Waits, -of_ceil);
        }
        let own = self.tokens + passed;
        if own >= 0 {
            return (Mode::Sends, 0);
        }
        (Mode::Borrows, -own)
    }

    /// The times that a packet takes at the rate and at the ceiling, ps.
    #[inline(always)]
    fn times(&mut self, size: u32) -> (i64, i64) {
        if size != self.charged.0 {
            let time = |rate| sending_time(f64::from(size), rate);
            self.charged = (size, time(self.rate), time(self.ceil));
        }
        (self.charged.1, self.charged.2)
    }

    #[inline(always)]
    fn passed(&self, now: Time) -> i64 {
        (now.0.saturating_sub(self.filled.0) as i64).min(MAX_FILL_PS)
    }
}

/// The hierarchical token bucket at work.
#[derive(Debug)]
pub struct Htb {
    classes: Vec<Class>,
    /// By level and priority: classes with packets that send on their own account.
    rows: [[Round; PRIORITY_COUNT]; LEVELS],
    /// Levels that have classes, a bit each.
    levels: u8,
    /// By level: the priorities whose rows have classes, a bit each.
    filled: [u8; LEVELS],
    /// By level: when classes that borrow or wait are looked at again.
    waiting: [Waiting; LEVELS],
    /// The place of each class in the heap of its level.
    places: Vec<u32>,
    /// Leaves with packets.
    busy: usize,
    /// Level and priority at which the class chosen last was found.
    chosen: (usize, usize),
    /// The only leaf with packets, and when it is looked at again: it has sent on its own account
    /// and waits, but is still in its row and in no wait queue ([`Htb::settle`]), as it may be the
    /// next to send again.
    resting: Option<(usize, Time)>,
}

/// The priorities, or levels, of a mask, lowest number first.
fn numbers(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        number
    })
}

impl Htb {
    fn round(&mut self, level: usize, prio: usize, parent: Option<usize>) -> &mut Round {
        let feed = parent.and_then(|parent| self.classes[parent].feeds.as_mut());
        match feed {
            Some(feeds) => &mut feeds[prio],
            None => &mut self.rows[level][prio],
        }
    }

    /// Puts a class with packets in these priorities where its mode has it: in the row of its level,
    /// or among what its parent feeds, and so on up.
    #[inline(always)]
    fn activate(&mut self, class: usize, mask: u8, mode: Mode) {
        match mode {
            Mode::Sends => self.enter_rows(class, mask),
            Mode::Borrows => self.feed(class, mask),
            Mode::Waits => {}
        }
    }

    /// A class that sends on its own account enters the rows of these priorities.
    #[inline(always)]
    fn enter_rows(&mut self, class: usize, mask: u8) {
        let level = self.classes[class].level;
        for prio in numbers(mask) {
            self.rows[level][prio].insert(class);
        }
        self.filled[level] |= mask;
    }

    #[inline(never)]
    fn feed(&mut self, mut class: usize, mut mask: u8) {
        while self.classes[class].mode == Mode::Borrows && mask != 0 {
            let Some(parent) = self.classes[class].parent else {
                return;
            };
            let mut new = mask;
            for prio in numbers(mask) {
                let feed = self.round(0, prio, Some(parent));
                if !feed.members.is_empty() {
                    new &= !(1 << prio); // the parent is active in it already
                }
                feed.insert(class);
            }
            self.classes[parent].active |= new;
            (class, mask) = (parent, new);
        }
        if self.classes[class].mode == Mode::Sends {
            self.enter_rows(class, mask);
        }
    }

    /// Takes such a class from where its mode had it.
    #[inline(always)]
    fn deactivate(&mut self, class: usize, mask: u8, mode: Mode) {
        match mode {
            Mode::Sends => self.leave_rows(class, mask),
            Mode::Borrows => self.stop_feeding(class, mask),
            Mode::Waits => {}
        }
    }

    #[inline(always)]
    fn leave_rows(&mut self, class: usize, mask: u8) {
        let level = self.classes[class].level;
        for prio in numbers(mask) {
            let row = &mut self.rows[level][prio];
            row.remove(class);
            if row.at == class {
                row.at += 1; // its turn is over, also if it is soon back
            }
            if row.members.is_empty() {
                self.filled[level] &= !(1 << prio);
            }
        }
    }

    #[inline(never)]
    fn stop_feeding(&mut self, mut class: usize, mut mask: u8) {
        while self.classes[class].mode == Mode::Borrows && mask != 0 {
            let Some(parent) = self.classes[class].parent else {
                return;
            };
            let mut gone = 0;
            for prio in numbers(mask) {
                let feed = self.round(0, prio, Some(parent));
                feed.remove(class);
                if feed.members.is_empty() {
                    gone |= 1 << prio;
                }
            }
            self.classes[parent].active &= !gone;
            (class, mask) = (parent, gone);
        }
        if self.classes[class].mode == Mode::Sends {
            self.leave_rows(class, mask);
        }
    }

    /// The mode of a class is another from now on, for `rest` at least, unless it sends.
    #[inline(always)]
    fn change_mode(&mut self, now: Time, class: usize, (mode, rest): (Mode, i64)) {
        let state = &self.classes[class];
        let (before, level, mask) = (state.mode, state.level, state.active);
        if before != mode {
            if mask != 0 {
                self.deactivate(class, mask, before);
            }
            self.classes[class].mode = mode;
            if mask != 0 {
                self.activate(class, mask, mode);
            }
        }
        let waiting = &mut self.waiting[level];
        if mode == Mode::Sends {
            waiting.remove(&mut self.places, class);
        } else {
            waiting.set(&mut self.places, class, Time(now.0 + rest.max(1) as u64));
        }
    }

    /// Looks again at the classes of a level whose time has come.
    #[inline(always)]
    fn wake(&mut self, level: usize, now: Time) {
        while let Some((at, class)) = self.waiting[level].first()
            && at <= now
        {
            let state = &self.classes[class];
            self.change_mode(now, class, state.mode_after(state.passed(now)));
        }
    }

    /// The leaf that rests in its row leaves it and goes where classes wait.
    #[inline(always)]
    fn settle(&mut self) {
        if let Some((class, at)) = self.resting.take() {
            self.settle_leaf(class, at);
        }
    }

    #[inline(never)]
    fn settle_leaf(&mut self, class: usize, at: Time) {
        let (level, mask) = (self.classes[class].level, self.classes[class].active);
        self.leave_rows(class, mask);
        self.waiting[level].set(&mut self.places, class, at);
    }

    /// Whether the only leaf with packets, which has waited since it last sent, may send again on
    /// its own account.
    #[inline(always)]
    fn resumes(&mut self, now: Time) -> Option<usize> {
        let (class, at) = self.resting?;
        let state = &mut self.classes[class];
        if at > now || state.mode_after(state.passed(now)).0 != Mode::Sends {
            return None;
        }
        self.resting = None;
        state.mode = Mode::Sends;
        self.chosen = (state.level, state.prio);
        self.rows[state.level][state.prio].at = class;
        Some(class)
    }

    /// When a class is looked at again first.
    #[inline(always)]
    fn first_look(&self) -> Option<Time> {
        let mut first = self.resting.map_or(Time(u64::MAX), |(_, at)| at);
        for level in numbers(self.levels) {
            if let Some((at, _)) = self.waiting[level].first() {
                first = first.min(at);
            }
        }
        (first.0 != u64::MAX).then_some(first)
    }

    /// The leaf whose turn it is in a row.
    #[inline(always)]
    fn leaf(&mut self, level: usize, prio: usize) -> Option<usize> {
        let mut of = None; // whose feed the walk is in
        loop {
            if let Some(class) = self.round(level, prio, of).current() {
                if self.classes[class].feeds.is_none() {
                    return Some(class);
                }
                of = Some(class);
                continue;
            }
            // at its end it begins anew, and the one above goes on
            let round = self.round(level, prio, of);
            if round.members.is_empty() {
                return None;
            }
            round.at = 0;
            if let Some(class) = of {
                let inside = self.classes[class].level < level;
                of = self.classes[class].parent.filter(|_| inside);
                self.round(level, prio, of).at = class + 1;
            }
        }
    }

    /// Takes a packet of `size` bytes from the buckets of a leaf and all above it, `level` being
    /// that of the class that lends.
    #[inline(always)]
    fn charge(&mut self, now: Time, leaf: usize, level: usize, size: u32) {
        let mut next = Some(leaf);
        while let Some(class) = next {
            let state = &mut self.classes[class];
            let passed = state.passed(now);
            let (time, time_of_ceil) = state.times(size);
            if state.level >= level {
                let left = (state.tokens + passed).min(state.most) - time;
                state.tokens = left.max(1 - MAX_FILL_PS);
            } else {
                state.tokens += passed;
            }
            let left = (state.tokens_of_ceil + passed).min(state.most_of_ceil) - time_of_ceil;
            state.tokens_of_ceil = left.max(1 - MAX_FILL_PS);
            state.filled = now;
            next = state.parent;
            let before = state.mode;
            let after = state.mode_after(0);
            // when it is looked at again is known at any time
            let later = Time(now.0 + after.1.max(1) as u64);
            if after.0 != before {
                let is_lone = class == leaf && state.active != 0 && self.busy == 1;
                let shuts = (before, after.0) == (Mode::Sends, Mode::Waits);
                if is_lone && shuts && self.waiting[state.level].is_empty() {
                    state.mode = Mode::Waits;
                    self.resting = Some((class, later));
                } else {
                    self.change_mode(now, class, after);
                }
            } else if after.0 != Mode::Sends {
                self.waiting[state.level].set(&mut self.places, class, later);
            }
        }
    }
}

impl ClassScheduler for Htb {
    fn joined(&mut self, _now: Time, class: usize, _backlog: &[Backlog]) {
        if self.classes[class].active == 0 {
            self.settle();
            let state = &mut self.classes[class];
            state.active = 1 << state.prio;
            let (mask, mode) = (state.active, state.mode);
            self.busy += 1;
            self.activate(class, mask, mode);
        }
    }

    #[inline]
    fn next(&mut self, now: Time, _backlog: &[Backlog]) -> Turn {
        if let Some(leaf) = self.resumes(now) {
            return Turn::Send(leaf);
        }
        self.settle();
        for level in numbers(self.levels) {
            self.wake(level, now);
            for prio in numbers(self.filled[level]) {
                if let Some(leaf) = self.leaf(level, prio) {
                    self.chosen = (level, prio);
                    return Turn::Send(leaf);
                }
            }
        }
        if self.busy == 0 {
            return Turn::Idle;
        }
        self.first_look().map_or(Turn::Idle, Turn::Wait)
    }

    #[inline]
    fn shut_until(&self) -> Time {
        if self.resting.is_none() && (self.busy == 0 || self.filled != [0; LEVELS]) {
            return Time::ZERO;
        }
        self.first_look().unwrap_or(Time::ZERO)
    }

    #[inline]
    fn sent(&mut self, now: Time, class: usize, size: u32, backlog: &[Backlog]) {
        let (level, prio) = self.chosen;
        let state = &mut self.classes[class];
        state.deficit[level] -= i64::from(size);
        if state.deficit[level] < 0 {
            state.deficit[level] += state.quantum;
            let parent = if level > 0 { state.parent } else { None };
            self.round(level, prio, parent).at = class + 1;
        }
        if backlog[class].packets == 0 {
            self.emptied(now, class);
        }
        self.charge(now, class, level, size);
    }

    fn emptied(&mut self, _now: Time, class: usize) {
        self.settle();
        let state = &mut self.classes[class];
        let (mask, mode) = (std::mem::take(&mut state.active), state.mode);
        self.busy -= usize::from(mask != 0);
        self.deactivate(class, mask, mode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::test::Queues;
    use crate::{NumberOr, Owner, Stream};

    fn class(
        parent: Option<usize>,
        leaf: bool,
        rate: f64,
        ceil: f64,
        prio: f64,
    ) -> Declared<HtbClassParams> {
        Declared {
            parent,
            leaf,
            params: HtbClassParams {
                rate,
                ceil: NumberOr::Number(ceil),
                burst: 15_000.0,
                cburst: 15_000.0,
                prio,
                quantum: NumberOr::Word("auto"),
            },
        }
    }

    /// Shares, bit/s, of backlogged classes on a link of 100 Mbit/s.
    fn shares(classes: &[Declared<HtbClassParams>], busy: &[usize]) -> Vec<f64> {
        let scheduler = HtbParams { r2q: 10.0 }.build(classes);
        let window = (Time::from_seconds(1.0), Time::from_seconds(21.0));
        let sent = Queues::new(scheduler, classes.len()).saturate(busy, 1500, 100e6, window);
        sent.iter()
            .map(|bytes| *bytes as f64 * 8.0 / 20.0)
            .collect()
    }

    fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 0.005 * expected,
            "{value} and {expected}"
        );
    }

    /// A leaf that rests in its row sends as one that has left it.
    #[test]
    fn resting_changes_nothing() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        let mut draw = move |most: u64| random.bits() % most;
        let mut rested = 0;
        for _ in 0..200 {
            let mut rate = |most| 1e6 * (1 + draw(most)) as f64;
            let (a, b, c) = (rate(9), rate(9), rate(9));
            let classes = [
                class(None, false, a, a, 0.0),
                class(Some(0), true, b.min(a), a, 0.0),
                class(Some(0), true, b, b, 1.0),
                class(None, true, c, c, 0.0),
            ]
            .map(|mut declared| {
                (declared.params.burst, declared.params.cburst) = (3000.0, 2000.0);
                declared.params.quantum = NumberOr::Number(2000.0);
                declared
            });
            let mut both = [(); 2].map(|()| HtbParams { r2q: 10.0 }.build(&classes));
            let mut backlog = vec![Backlog::default(); classes.len()];
            let mut now = Time::ZERO;
            for _ in 0..300 {
                now.0 += draw(4) * 400_000_000;
                if draw(9) == 0 {
                    let leaf = 1 + draw(3) as usize;
                    backlog[leaf].packets += 1 + draw(9) as u32;
                    for htb in &mut both {
                        htb.joined(now, leaf, &backlog);
                    }
                }
                let [turn, other] = both.each_mut().map(|htb| htb.next(now, &backlog));
                assert_eq!(turn, other);
                let Turn::Send(leaf) = turn else { continue };
                backlog[leaf].packets -= 1;
                let size = 40 + 1460 * draw(2) as u32;
                for htb in &mut both {
                    htb.sent(now, leaf, size, &backlog);
                }
                rested += usize::from(both[0].resting.is_some());
                both[1].settle();
                let [until, other] = both.each_ref().map(Htb::shut_until);
                assert_eq!(until, other);
            }
        }
        assert!(rested > 1000, "{rested}");
    }

    #[test]
    fn a_class_alone_reaches_its_ceiling() {
        let classes = [
            class(None, false, 10e6, 10e6, 0.0),
            class(Some(0), true, 4e6, 8e6, 0.0),
            class(Some(0), true, 6e6, 10e6, 0.0),
        ];
        near(shares(&classes, &[1])[1], 8e6);
        near(shares(&classes, &[2])[2], 10e6);
    }

    #[test]
    fn classes_that_cannot_all_have_more_have_their_rates() {
        let classes = [
            class(None, false, 10e6, 10e6, 0.0),
            class(Some(0), true, 4e6, 10e6, 0.0),
            class(Some(0), true, 6e6, 10e6, 0.0),
        ];
        let rates = shares(&classes, &[1, 2]);
        near(rates[1], 4e6);
        near(rates[2], 6e6);
    }

    /// 10 Mbit/s, of which 2 and 3 are guaranteed: the 5 left are lent by quanta, 2 to 3.
    #[test]
    fn what_is_left_is_lent_by_quanta() {
        let classes = [
            class(None, false, 10e6, 10e6, 0.0),
            class(Some(0), true, 2e6, 10e6, 0.0),
            class(Some(0), true, 3e6, 10e6, 0.0),
        ];
        let rates = shares(&classes, &[1, 2]);
        near(rates[1], 4e6);
        near(rates[2], 6e6);
    }

    #[test]
    fn the_lower_number_borrows_first() {
        for (first, last) in (0..8).flat_map(|first| (first + 1..8).map(move |last| (first, last)))
        {
            let classes = [
                class(None, false, 10e6, 10e6, 0.0),
                class(Some(0), true, 2e6, 10e6, f64::from(last)),
                class(Some(0), true, 3e6, 10e6, f64::from(first)),
            ];
            let rates = shares(&classes, &[1, 2]);
            near(rates[1], 2e6);
            near(rates[2], 8e6);
        }
    }

    /// Devera's agencies: A has 5 of 10, with a web of 3 and a mail of 2 inside; B has 5. What A's
    /// mail leaves goes to A's web, not to B.
    #[test]
    fn a_class_lends_to_its_own_first() {
        let classes = [
            class(None, false, 10e6, 10e6, 0.0),
            class(Some(0), false, 5e6, 10e6, 0.0),
            class(Some(1), true, 3e6, 10e6, 0.0),
            class(Some(1), true, 2e6, 10e6, 0.0),
            class(Some(0), true, 5e6, 10e6, 0.0),
        ];
        let rates = shares(&classes, &[2, 4]);
        near(rates[2], 5e6);
        near(rates[4], 5e6);
    }

    /// A root of less than the sum of its classes' rates does not hold them back: rates are
    /// promises, and only ceilings bind.
    #[test]
    fn rates_above_the_parents_are_kept() {
        let classes = [
            class(None, false, 5e6, 5e6, 0.0),
            class(Some(0), true, 4e6, 4e6, 0.0),
            class(Some(0), true, 4e6, 4e6, 0.0),
        ];
        let rates = shares(&classes, &[1, 2]);
        near(rates[1], 4e6);
        near(rates[2], 4e6);
    }
}
