//! How an equilibrium goes on as one parameter moves.
//!
//! The equilibrium is followed in the regime of the laws that holds, and across switching
//! boundaries into the next one. The number of unstable roots is counted by the argument principle
//! at every point; where it changes, the change is located: a pair on the axis (Hopf point), a real
//! root at zero, or a switching boundary.

use std::collections::VecDeque;

use ackclock_delay::{
    HopfPoint, Linear, bounded, count_right_of, equilibrium, hopf_near, rightmost_roots,
};

use crate::{equilibrium::Equilibrium, error::Result, model::Model};

/// The most switching boundaries that are crossed in one direction.
const MOST_BOUNDARIES: usize = 24;
/// A crossing is located from a bracket that is narrower than this, relative to the parameter.
const BRACKET_WIDTH: f64 = 1e-3;
/// A state that moves by less (in packets, probabilities) between two points has not moved far.
const SMALLEST_MOVE: f64 = 1e-3;
/// The most work for one count of roots: some tenths of a second.
const MAX_ROOT_COUNT_WORK: u64 = 5_000_000;
/// Why the way ends where roots cannot be counted.
const UNCOUNTED: &str =
    "its characteristic roots cannot be counted (one on the axis, or too stiff)";
/// Why a window comes to a switching boundary.
const LAW_CHANGES: &str = "where its sender's law changes";
/// How far beyond a switching boundary its other side is looked at, relative to the way.
const BOUNDARY_STEP: f64 = 1e-6;

/// The equilibrium at one value of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuationPoint {
    /// The parameter.
    pub value: f64,
    /// The equilibrium.
    pub x: Vec<f64>,
    /// The regime of each AQM's law.
    pub regimes: Vec<usize>,
    /// Unstable roots; `None` where one lies on the axis to rounding whatever the parameter
    /// (CUBIC's states).
    pub unstable: Option<usize>,
    /// Which classes' windows are so small that another law holds for them.
    small: Vec<bool>,
}

/// Kind of a [`SpecialPoint`].
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A pair of roots crosses the imaginary axis.
    Hopf(HopfPoint),
    /// A real root crosses zero, and the equilibrium lives on.
    RealRoot,
    /// A law passes a switching boundary: which, in words.
    Boundary(String),
}

/// How well the place of a [`SpecialPoint`] is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// To rounding, by Newton's method or bisection.
    Converged,
    /// Somewhere in its interval: the equations allow no closer look.
    Guess,
}

/// A place where the number of unstable roots, or a law's regime, changes.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecialPoint {
    /// The parameter there.
    pub value: f64,
    /// The values between which it was found, in the direction in which the parameter moves.
    pub interval: (f64, f64),
    /// How well its place is known.
    pub status: Status,
    /// Kind of the point.
    pub change: Change,
    /// Unstable roots before it, in the direction in which the parameter moves.
    pub before: Option<usize>,
    /// Unstable roots after it.
    pub after: Option<usize>,
    /// The equilibrium just before, with the regime in which it was followed.
    pub at: Equilibrium,
}

impl SpecialPoint {
    /// The Hopf point, if it is one.
    #[must_use]
    pub fn hopf(&self) -> Option<&HopfPoint> {
        match &self.change {
            Change::Hopf(point) => Some(point),
            _ => None,
        }
    }
}

/// An equilibrium along a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// All points, in order; the first is where it starts.
    pub points: Vec<ContinuationPoint>,
    /// All changes, in order.
    pub special: Vec<SpecialPoint>,
    /// The value up to which the equilibrium was followed.
    pub end: f64,
    /// Why not further, in words; `None` at the end of the range.
    pub ended: Option<String>,
}

impl Model {
    /// Follows an equilibrium while parameter `free` (an index of [`Model::parameter_names`]) moves
    /// from its value there to `to`, in `points` steps (in proportion where the way spans more than
    /// a factor of five). With `every` all changes of the number of unstable roots are located, else
    /// only those between stable and unstable: far on the unstable side there may be hundreds.
    ///
    /// Two crossings that undo each other between two points go unseen.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`] when the work allowed is spent.
    pub fn branch(
        &self,
        at: &Equilibrium,
        free: usize,
        to: f64,
        points: usize,
        every: bool,
    ) -> Result<Branch> {
        let mut way = Continuation::new(self, at, free, to, points, every);
        while way.next().is_some() {
            ackclock_delay::spend(0)?;
        }
        Ok(way.into_branch())
    }
}

/// An equilibrium on its way along a parameter: an iterator over its points, which may be stopped
/// at any of them and resumed. What was found so far is in [`Continuation::branch`].
#[derive(Clone, Debug)]
pub struct Continuation<'a> {
    model: &'a Model,
    p: Vec<f64>,
    free: usize,
    every: bool,
    from: f64,
    to: f64,
    steps: usize,
    /// The step that comes next, from 1; beyond the last one at the end.
    step: usize,
    boundaries: usize,
    last: ContinuationPoint,
    /// Points of the branch that were not handed out yet.
    pending: VecDeque<ContinuationPoint>,
    branch: Branch,
}

/// A point, or why there is none.
type Located = std::result::Result<ContinuationPoint, String>;

impl Iterator for Continuation<'_> {
    type Item = ContinuationPoint;

    fn next(&mut self) -> Option<ContinuationPoint> {
        while self.pending.is_empty() && self.step <= self.steps {
            self.take_step();
        }
        self.pending.pop_front()
    }
}

impl<'a> Continuation<'a> {
    /// At its first point: see [`Model::branch`].
    #[must_use]
    pub fn new(
        model: &'a Model,
        at: &Equilibrium,
        free: usize,
        to: f64,
        points: usize,
        every: bool,
    ) -> Self {
        let p = model.lengthened(&at.p);
        let from = p[free];
        let mut new = Self {
            model,
            p,
            free,
            every,
            from,
            to,
            steps: points,
            step: 1,
            boundaries: 0,
            last: ContinuationPoint {
                value: from,
                x: at.x.clone(),
                regimes: at.regimes.clone(),
                unstable: None,
                small: Vec::new(),
            },
            pending: VecDeque::new(),
            branch: Branch {
                points: Vec::new(),
                special: Vec::new(),
                end: from,
                ended: None,
            },
        };
        let start = new.start(at);
        new.record(start);
        new
    }

    /// Returns the branch so far.
    #[must_use]
    pub fn branch(&self) -> &Branch {
        &self.branch
    }

    /// Returns the branch.
    #[must_use]
    pub fn into_branch(self) -> Branch {
        self.branch
    }

    fn record(&mut self, point: ContinuationPoint) {
        self.branch.points.push(point.clone());
        self.branch.end = point.value;
        self.pending.push_back(point.clone());
        self.last = point;
    }

    fn stop(&mut self, why: String) {
        self.branch.ended = Some(why);
        self.step = self.steps + 1;
    }

    /// The next value of the parameter, or the boundary on the way to it.
    fn take_step(&mut self) {
        let target = spaced(self.from, self.to, self.step, self.steps);
        let (points, met) = self.advance(&self.last, target, 0);
        for next in points {
            if self.last.unstable.is_some() && next.unstable.is_none() {
                self.stop(UNCOUNTED.to_owned());
                return;
            }
            self.arrive(next);
        }
        let Some(met) = met else {
            self.step += 1;
            return;
        };
        let (edge, why) = self.edge(&self.last, target, met);
        if edge.unstable.is_some() == self.last.unstable.is_some() {
            self.arrive(edge);
        }
        self.boundaries += 1;
        match self.across(&self.last, target) {
            Some(next) if self.boundaries <= MOST_BOUNDARIES => {
                let at = self.last.clone();
                let interval = (at.value, next.value);
                let change = Change::Boundary(why);
                self.special(
                    &at,
                    (at.value, interval),
                    Status::Converged,
                    change,
                    next.unstable,
                );
                self.record(next);
            }
            beyond => {
                let nothing = beyond.is_none() && why.ends_with(LAW_CHANGES);
                let more = if nothing {
                    ", and nothing balances just beyond"
                } else {
                    ""
                };
                self.stop(format!("{why}{more}"));
            }
        }
    }

    fn arrive(&mut self, next: ContinuationPoint) {
        let last = self.last.clone();
        self.between(&last, &next, 0);
        self.record(next);
    }

    fn parameters(&self, value: f64) -> Vec<f64> {
        let mut p = self.p.clone();
        p[self.free] = value;
        p
    }

    /// The first point. On a Hopf point it lies just before it, so that the point is met.
    fn start(&self, at: &Equilibrium) -> ContinuationPoint {
        let (from, to) = (self.from, self.to);
        let first = self.counted(at.x.clone(), at.regimes.clone(), from);
        if first.unstable.is_some() {
            return first;
        }
        (0..4)
            .filter_map(|k| {
                let back = from + (from - to).signum() * from.abs() * 1e-7 * 10_f64.powi(k);
                self.point(&first, back).ok()
            })
            .find(|point| point.unstable.is_some())
            .unwrap_or(first)
    }

    /// The equilibrium at a value, in the regime of the point before; its roots are not counted.
    fn place(&self, near: &ContinuationPoint, value: f64) -> Located {
        let p = self.parameters(value);
        let frozen = self.model.frozen(&near.regimes).frozen_small(&near.small);
        let x = equilibrium(&frozen, &near.x, &p)
            .map_err(|_| "the equilibrium can be followed no further".to_owned())?;
        let small = self.model.small_at(&x, &p);
        if let Some(class) = (0..small.len()).find(|c| small[*c] != near.small[*c]) {
            return Err(self.law_changes(class, &x, &p));
        }
        if !frozen.balances(&x, &p) {
            return Err("a window stays where its sender's law jumps: nothing balances".to_owned());
        }
        let here = self.model.regimes_at(&x, &p);
        if let Some(link) = (0..here.len()).find(|l| here[*l] != near.regimes[*l]) {
            let name = self.model.regime_names(&here)[link];
            return Err(format!(
                "the AQM of {} passes to \"{name}\"",
                self.model.link_name(link)
            ));
        }
        if !self.model.sensible(&x, &p) {
            let passed = self.model.outside(&here, &x, &p);
            let adapted = self.model.adapts_beyond(&x, &p);
            return Err(match (passed.first(), adapted) {
                (Some(outside), _) => outside.to_string(),
                (None, Some(link)) => format!("what the AQM of {link} adapts reaches its bound"),
                (None, None) => "a window falls to nothing".to_owned(),
            });
        }
        Ok(ContinuationPoint {
            value,
            x,
            regimes: here,
            unstable: None,
            small,
        })
    }

    /// As [`Continuation::place`], with the roots counted.
    fn point(&self, near: &ContinuationPoint, value: f64) -> Located {
        let solution = self.place(near, value)?;
        let point = self.counted(solution.x, solution.regimes, value);
        if point.unstable.is_some() || near.unstable.is_none() {
            return Ok(point);
        }
        // on a crossing, perhaps: a step back
        let back = self.place(near, value + 1e-7 * (near.value - value))?;
        Ok(self.counted(back.x, back.regimes, back.value))
    }

    /// The point with its roots counted; a root on the axis is stepped aside from.
    fn counted(&self, x: Vec<f64>, regimes: Vec<usize>, value: f64) -> ContinuationPoint {
        let p = self.parameters(value);
        let small = self.model.small_at(&x, &p);
        let linear = Linear::of(&self.model.frozen(&regimes), &x, &p);
        ContinuationPoint {
            value,
            unstable: bounded(MAX_ROOT_COUNT_WORK, || count_right_of(&linear, 0.0).ok())
                .ok()
                .flatten(),
            x,
            regimes,
            small,
        }
    }

    /// Points on the way to a value, more of them where the state moves far; and why they end before
    /// it, if they do.
    fn advance(
        &self,
        last: &ContinuationPoint,
        value: f64,
        depth: usize,
    ) -> (Vec<ContinuationPoint>, Option<String>) {
        let next = match self.point(last, value) {
            Ok(next) => next,
            Err(why) => return (Vec::new(), Some(why)),
        };
        let far = next
            .x
            .iter()
            .zip(&last.x)
            .any(|(a, b)| (a - b).abs() > 0.5 * a.abs().max(b.abs()).max(SMALLEST_MOVE));
        if !far || depth >= 5 {
            return (vec![next], None);
        }
        let (mut points, ended) = self.advance(last, 0.5 * (last.value + value), depth + 1);
        let Some(middle) = points.last().filter(|_| ended.is_none()) else {
            return (points, ended);
        };
        let (rest, ended) = self.advance(middle, value, depth + 1);
        points.extend(rest);
        (points, ended)
    }

    /// The last place before `bad` at which the regime still holds.
    fn edge(&self, last: &ContinuationPoint, bad: f64, why: String) -> (ContinuationPoint, String) {
        let (mut good, mut bad, mut why) = (last.clone(), bad, why);
        for _ in 0..60 {
            if (bad - good.value).abs() <= 1e-12 * bad.abs() {
                break;
            }
            match self.place(&good, 0.5 * (good.value + bad)) {
                Ok(next) => good = next,
                Err(reason) => {
                    bad = 0.5 * (good.value + bad);
                    why = reason;
                }
            }
        }
        (self.counted(good.x, good.regimes, good.value), why)
    }

    /// The same equilibrium in the regime on the other side of a switching boundary.
    fn across(&self, edge: &ContinuationPoint, target: f64) -> Option<ContinuationPoint> {
        let way = (target - edge.value)
            .abs()
            .max(1e-3 * edge.value.abs().max(target.abs()));
        let beyond = edge.value + BOUNDARY_STEP * way * (target - edge.value).signum();
        for (link, count) in self.model.regime_counts().into_iter().enumerate() {
            for regime in (0..count).filter(|k| *k != edge.regimes[link]) {
                let mut other = edge.clone();
                other.regimes[link] = regime;
                let near = |next: &ContinuationPoint| {
                    next.x
                        .iter()
                        .zip(&edge.x)
                        .all(|(a, b)| (a - b).abs() <= 1e-3 * a.abs().max(b.abs()).max(1e-6))
                };
                if let Some(next) = self.point(&other, beyond).ok().filter(near) {
                    return Some(next);
                }
            }
        }
        self.other_law(edge, beyond)
    }

    /// The equilibrium in the other laws of the senders whose windows stand where their laws
    /// change. Where a law jumps, so does the state.
    fn other_law(&self, edge: &ContinuationPoint, beyond: f64) -> Option<ContinuationPoint> {
        let p = self.parameters(edge.value);
        let windows = self.model.windows(&edge.x, &p);
        let mut other = edge.clone();
        for (small, (_, window, below)) in other.small.iter_mut().zip(windows) {
            if (window - below).abs() <= 1e-6 * below {
                *small = !*small;
            }
        }
        (other.small != edge.small)
            .then(|| self.point(&other, beyond).ok())
            .flatten()
    }

    fn special(
        &mut self,
        at: &ContinuationPoint,
        (value, interval): (f64, (f64, f64)),
        status: Status,
        change: Change,
        after: Option<usize>,
    ) {
        let at_p = self.parameters(at.value);
        self.branch.special.push(SpecialPoint {
            value,
            interval,
            status,
            change,
            before: at.unstable,
            after,
            at: self.model.named(at.x.clone(), at_p, at.regimes.clone()),
        });
    }

    /// Locates what changes between two points in one regime.
    fn between(&mut self, a: &ContinuationPoint, b: &ContinuationPoint, depth: usize) {
        let interval = (a.value, b.value);
        let here = (b.value, interval);
        let (Some(first), Some(second)) = (a.unstable, b.unstable) else {
            if a.unstable != b.unstable {
                let text = "a characteristic root lies on the axis".to_owned();
                self.special(a, here, Status::Guess, Change::Boundary(text), b.unstable);
            }
            return;
        };
        if first == second || !self.every && (first > 0) == (second > 0) {
            return;
        }
        let width = (a.value - b.value).abs();
        let size = a.value.abs().max(b.value.abs());
        if width < BRACKET_WIDTH * size
            && first.abs_diff(second) == 2
            && let Some(point) = self.hopf(a, b)
        {
            let place = (point.p[self.free], interval);
            self.special(a, place, Status::Converged, Change::Hopf(point), b.unstable);
            return;
        }
        if width < 1e-11 * size || depth > 60 {
            self.special(a, here, Status::Converged, Change::RealRoot, b.unstable);
            return;
        }
        match self.point(a, 0.5 * (a.value + b.value)) {
            Ok(middle) if middle.unstable.is_some() => {
                self.between(a, &middle, depth + 1);
                self.between(&middle, b, depth + 1);
            }
            result => {
                let text = result.err().unwrap_or_else(|| {
                    "a characteristic root lies on the axis to rounding".to_owned()
                });
                self.special(a, here, Status::Guess, Change::Boundary(text), b.unstable);
            }
        }
    }

    /// The window of a class passes from one law to another, in words.
    fn law_changes(&self, class: usize, x: &[f64], p: &[f64]) -> String {
        let windows = self.model.windows(x, p);
        let (name, _, below) = windows[class];
        passes(name, below)
    }

    /// The Hopf point between two points of one regime.
    fn hopf(&self, a: &ContinuationPoint, b: &ContinuationPoint) -> Option<HopfPoint> {
        let more = if a.unstable > b.unstable { a } else { b };
        let p = self.parameters(more.value);
        let frozen = self.model.frozen(&more.regimes).frozen_small(&more.small);
        let linear = Linear::of(&frozen, &more.x, &p);
        let roots = rightmost_roots(&linear, more.unstable?).ok()?.roots;
        let nearest = roots
            .iter()
            .filter(|z| z.im > 0.0 && z.re > 0.0)
            .min_by(|u, v| u.re.total_cmp(&v.re))?;
        let point = hopf_near(&frozen, &more.x, nearest.im, &p, self.free).ok()?;
        let (low, high) = (a.value.min(b.value), a.value.max(b.value));
        let slack = 0.01 * (high - low) + 1e-13 * high.abs();
        let value = point.p[self.free];
        (value >= low - slack && value <= high + slack).then_some(point)
    }
}

/// The k-th of `steps` values on the way.
fn spaced(from: f64, to: f64, k: usize, steps: usize) -> f64 {
    let part = k as f64 / steps as f64;
    if k == steps {
        to
    } else if from * to > 0.0 && (from / to).max(to / from) > 5.0 {
        from * libm::pow(to / from, part)
    } else {
        from + part * (to - from)
    }
}

/// The window of a class passes from one law to another, in words.
pub(crate) fn passes(class: &str, below: f64) -> String {
    let below = (below * 1e4).round() / 1e4;
    format!("the window of {class} passes {below} packets, {LAW_CHANGES}")
}
