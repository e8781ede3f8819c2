//! How far an equilibrium and its verdict go as one parameter moves.
//!
//! The equilibrium is followed in the regime of the laws that holds, and across switching
//! boundaries into the next one. The number of unstable roots is counted by the argument principle
//! at every look; where it changes, the change is located: a pair on the axis (Hopf point), a real
//! root at zero, or a switching boundary.

use ackclock_delay::{
    HopfPoint, Linear, bounded, count_right_of, equilibrium, hopf_near, rightmost_roots,
};

use crate::{
    curves::{LAW_CHANGES, passes},
    error::Result,
    model::Model,
    questions::Equilibrium,
};

/// The most switching boundaries that are crossed in one direction.
const MOST_BOUNDARIES: usize = 24;
/// A crossing is located from a bracket that is narrower than this, relative to the parameter.
const NARROW: f64 = 1e-3;
/// A state that moves by less (in packets, probabilities) between two looks has not moved far.
const SMALLEST_MOVE: f64 = 1e-3;
/// The most work for one count of roots: some tenths of a second.
const COUNTING: u64 = 5_000_000;
/// Why the way ends where roots cannot be counted.
const UNCOUNTED: &str =
    "its characteristic roots cannot be counted (one on the axis, or too stiff)";
/// How near to a switching boundary its other side is looked at, relative to the way.
const ASTRIDE: f64 = 1e-6;

/// The equilibrium at one value of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
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

/// What happens at a [`Passage`].
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A pair of roots crosses the imaginary axis.
    Hopf(HopfPoint),
    /// A real root crosses zero, and the equilibrium lives on.
    Steady,
    /// A law passes a switching boundary: which, in words.
    Switch(String),
}

/// A place where the number of unstable roots, or a law's regime, changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The parameter there.
    pub value: f64,
    /// What happens.
    pub change: Change,
    /// Unstable roots before it, in the direction in which the parameter moves.
    pub before: Option<usize>,
    /// Unstable roots after it.
    pub after: Option<usize>,
    /// The equilibrium just before, with the regime in which it was followed.
    pub at: Equilibrium,
}

/// The way of an equilibrium along a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// All looks, in order; the first is where it starts.
    pub looks: Vec<Look>,
    /// All changes, in order.
    pub passages: Vec<Passage>,
    /// The value up to which the equilibrium was followed.
    pub end: f64,
    /// Why not further, in words; `None` at the end of the range.
    pub ended: Option<String>,
}

impl Model {
    /// Follows an equilibrium while parameter `free` (an index of [`Model::parameter_names`]) moves
    /// from its present value to `to`, with `looks` looks (in proportion where the way spans more
    /// than a factor of five). With `every` all changes of the number of unstable roots are
    /// located, else only those between stable and unstable: far on the unstable side there may be
    /// hundreds.
    ///
    /// Two crossings that undo each other between two looks go unseen.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`] when the equilibrium at the start cannot be found again.
    pub fn follow(
        &self,
        at: &Equilibrium,
        free: usize,
        to: f64,
        looks: usize,
        every: bool,
    ) -> Result<Course> {
        let mut p = at.p.clone();
        p.extend(&self.parameters()[p.len().min(self.parameters().len())..]);
        let from = p[free];
        let mut follower = Follower {
            model: self,
            p,
            free,
            every,
            course: Course {
                looks: Vec::new(),
                passages: Vec::new(),
                end: from,
                ended: None,
            },
        };
        let start = follower.start(at, from, to);
        follower.walk(start, from, to, looks);
        Ok(follower.course)
    }
}

struct Follower<'a> {
    model: &'a Model,
    p: Vec<f64>,
    free: usize,
    every: bool,
    course: Course,
}

/// A look, or why there is none.
type Looked = std::result::Result<Look, String>;

impl Follower<'_> {
    fn parameters(&self, value: f64) -> Vec<f64> {
        let mut p = self.p.clone();
        p[self.free] = value;
        p
    }

    /// The first look. On a Hopf point it lies just before it, so that the point is met.
    fn start(&self, at: &Equilibrium, from: f64, to: f64) -> Look {
        let first = self.counted(at.x.clone(), at.regimes.clone(), from);
        if first.unstable.is_some() {
            return first;
        }
        (0..4)
            .filter_map(|k| {
                let back = from + (from - to).signum() * from.abs() * 1e-7 * 10_f64.powi(k);
                self.look(&first, back).ok()
            })
            .find(|look| look.unstable.is_some())
            .unwrap_or(first)
    }

    fn walk(&mut self, start: Look, from: f64, to: f64, looks: usize) {
        self.course.looks.push(start.clone());
        let mut last = start;
        let mut boundaries = 0;
        let mut k = 1;
        while k <= looks {
            let target = spaced(from, to, k, looks);
            let (looks, met) = self.advance(&last, target, 0);
            for next in looks {
                if last.unstable.is_some() && next.unstable.is_none() {
                    self.course.ended = Some(UNCOUNTED.to_owned());
                    self.course.end = last.value;
                    return;
                }
                self.arrive(&mut last, next);
            }
            let Some(met) = met else {
                k += 1;
                continue;
            };
            let (edge, why) = self.edge(&last, target, met);
            if edge.unstable.is_some() == last.unstable.is_some() {
                self.arrive(&mut last, edge);
            }
            boundaries += 1;
            match self.across(&last, target) {
                Some(next) if boundaries <= MOST_BOUNDARIES => {
                    self.pass(&last, last.value, Change::Switch(why), next.unstable);
                    self.course.looks.push(next.clone());
                    last = next;
                }
                beyond => {
                    let nothing = beyond.is_none() && why.ends_with(LAW_CHANGES);
                    let more = if nothing {
                        ", and nothing balances beyond"
                    } else {
                        ""
                    };
                    self.course.ended = Some(format!("{why}{more}"));
                    break;
                }
            }
        }
        self.course.end = last.value;
    }

    fn arrive(&mut self, last: &mut Look, next: Look) {
        self.between(last, &next, 0);
        self.course.looks.push(next.clone());
        *last = next;
    }

    /// The equilibrium at a value, in the regime of the look before; its roots are not counted.
    fn place(&self, near: &Look, value: f64) -> Looked {
        let p = self.parameters(value);
        let frozen = self.model.frozen(&near.regimes).frozen_small(&near.small);
        let x = equilibrium(&frozen, &near.x, &p)
            .map_err(|_| "no equilibrium is found beyond".to_owned())?;
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
            return Err(passed.first().map_or_else(
                || "a window falls to nothing".to_owned(),
                ToString::to_string,
            ));
        }
        Ok(Look {
            value,
            x,
            regimes: here,
            unstable: None,
            small,
        })
    }

    /// As [`Follower::place`], with the roots counted.
    fn look(&self, near: &Look, value: f64) -> Looked {
        let found = self.place(near, value)?;
        let look = self.counted(found.x, found.regimes, value);
        if look.unstable.is_some() || near.unstable.is_none() {
            return Ok(look);
        }
        // on a crossing, perhaps: a step back
        let back = self.place(near, value + 1e-7 * (near.value - value))?;
        Ok(self.counted(back.x, back.regimes, back.value))
    }

    /// The look with its roots counted; a root on the axis is stepped aside from.
    fn counted(&self, x: Vec<f64>, regimes: Vec<usize>, value: f64) -> Look {
        let p = self.parameters(value);
        let small = self.model.small_at(&x, &p);
        let linear = Linear::of(&self.model.frozen(&regimes), &x, &p);
        Look {
            value,
            unstable: bounded(COUNTING, || count_right_of(&linear, 0.0).ok())
                .ok()
                .flatten(),
            x,
            regimes,
            small,
        }
    }

    /// Looks on the way to a value, more of them where the state moves far; and why they end before
    /// it, if they do.
    fn advance(&self, last: &Look, value: f64, depth: usize) -> (Vec<Look>, Option<String>) {
        let next = match self.look(last, value) {
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
        let (mut looks, ended) = self.advance(last, 0.5 * (last.value + value), depth + 1);
        let Some(middle) = looks.last().filter(|_| ended.is_none()) else {
            return (looks, ended);
        };
        let (rest, ended) = self.advance(middle, value, depth + 1);
        looks.extend(rest);
        (looks, ended)
    }

    /// The last place before `bad` at which the regime still holds.
    fn edge(&self, last: &Look, bad: f64, why: String) -> (Look, String) {
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
    fn across(&self, edge: &Look, target: f64) -> Option<Look> {
        let way = (target - edge.value)
            .abs()
            .max(1e-3 * edge.value.abs().max(target.abs()));
        let beyond = edge.value + ASTRIDE * way * (target - edge.value).signum();
        for (link, count) in self.model.regime_counts().into_iter().enumerate() {
            for regime in (0..count).filter(|k| *k != edge.regimes[link]) {
                let mut other = edge.clone();
                other.regimes[link] = regime;
                let near = |next: &Look| {
                    next.x
                        .iter()
                        .zip(&edge.x)
                        .all(|(a, b)| (a - b).abs() <= 1e-3 * a.abs().max(b.abs()).max(1e-6))
                };
                if let Some(next) = self.look(&other, beyond).ok().filter(near) {
                    return Some(next);
                }
            }
        }
        self.other_law(edge, beyond)
    }

    /// The equilibrium in the other laws of the senders whose windows stand where their laws
    /// change. Where a law jumps, so does the state.
    fn other_law(&self, edge: &Look, beyond: f64) -> Option<Look> {
        let p = self.parameters(edge.value);
        let windows = self.model.windows(&edge.x, &p);
        let mut other = edge.clone();
        for (small, (_, window, below)) in other.small.iter_mut().zip(windows) {
            if (window - below).abs() <= 1e-6 * below {
                *small = !*small;
            }
        }
        (other.small != edge.small)
            .then(|| self.look(&other, beyond).ok())
            .flatten()
    }

    fn pass(&mut self, at: &Look, value: f64, change: Change, after: Option<usize>) {
        let p = self.parameters(at.value);
        let frozen = self.model.frozen(&at.regimes);
        let (probability, signals) = frozen.probabilities(&at.x, &p);
        self.course.passages.push(Passage {
            value,
            change,
            before: at.unstable,
            after,
            at: Equilibrium {
                x: at.x.clone(),
                p,
                probability,
                signals,
                regime_names: self.model.regime_names(&at.regimes),
                regimes: at.regimes.clone(),
            },
        });
    }

    /// Locates what changes between two looks in one regime.
    fn between(&mut self, a: &Look, b: &Look, depth: usize) {
        let (Some(first), Some(second)) = (a.unstable, b.unstable) else {
            if a.unstable != b.unstable {
                let text = "a characteristic root lies on the axis".to_owned();
                self.pass(a, b.value, Change::Switch(text), b.unstable);
            }
            return;
        };
        if first == second || !self.every && (first > 0) == (second > 0) {
            return;
        }
        let width = (a.value - b.value).abs();
        let size = a.value.abs().max(b.value.abs());
        if width < NARROW * size
            && first.abs_diff(second) == 2
            && let Some(point) = self.hopf(a, b)
        {
            let value = point.p[self.free];
            self.pass(a, value, Change::Hopf(point), b.unstable);
            return;
        }
        if width < 1e-11 * size || depth > 60 {
            self.pass(a, b.value, Change::Steady, b.unstable);
            return;
        }
        match self.look(a, 0.5 * (a.value + b.value)) {
            Ok(middle) if middle.unstable.is_some() => {
                self.between(a, &middle, depth + 1);
                self.between(&middle, b, depth + 1);
            }
            found => {
                let text = found.err().unwrap_or_else(|| {
                    "a characteristic root lies on the axis to rounding".to_owned()
                });
                self.pass(a, b.value, Change::Switch(text), b.unstable);
            }
        }
    }

    /// The window of a class passes from one law to another, in words.
    fn law_changes(&self, class: usize, x: &[f64], p: &[f64]) -> String {
        let windows = self.model.windows(x, p);
        let (name, _, below) = windows[class];
        passes(name, below)
    }

    /// The Hopf point between two looks of one regime.
    fn hopf(&self, a: &Look, b: &Look) -> Option<HopfPoint> {
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

/// The k-th of `looks` values on the way.
fn spaced(from: f64, to: f64, k: usize, looks: usize) -> f64 {
    let part = k as f64 / looks as f64;
    if k == looks {
        to
    } else if from * to > 0.0 && (from / to).max(to / from) > 5.0 {
        from * (to / from).powf(part)
    } else {
        from + part * (to - from)
    }
}
