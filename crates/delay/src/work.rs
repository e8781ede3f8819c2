//! A meter of work: analyses of this crate can be bounded and interrupted without a clock in it.
//!
//! Work is counted in evaluations of one equation, roughly; so many are done in a given order
//! whatever the machine. The caller of [`metered`] is asked now and then whether to go on, and may
//! look at a clock or at signals. The meter belongs to the thread: every loop of the crate draws on
//! it, and none has to pass it on.

use std::cell::RefCell;

use crate::error::{Error, Result};

/// Work between two questions to the caller: some milliseconds.
const BETWEEN_LOOKS: u64 = 100_000;

struct Meter {
    /// Work that may still be done.
    left: u64,
    /// Work until the caller is asked.
    until_look: u64,
    /// Says whether to go on; `None` while it is asked.
    watch: Option<Box<dyn FnMut() -> bool>>,
    /// Why the analysis must end.
    stopped: Option<Error>,
}

thread_local! {
    static METERS: RefCell<Vec<Meter>> = const { RefCell::new(Vec::new()) };
}

/// Takes the meter off again, whatever the analysis does.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        METERS.with_borrow_mut(Vec::pop);
    }
}

/// Runs `analysis` with at most `limit` units of work, asking `watch` now and then whether to go
/// on.
///
/// # Errors
/// [`Error::OutOfWork`] when the limit was reached and [`Error::Interrupted`] when `watch` said no,
/// whatever the analysis made of that; else what the analysis returned is in `Ok`.
pub fn metered<T>(
    limit: u64,
    watch: impl FnMut() -> bool + 'static,
    analysis: impl FnOnce() -> T,
) -> Result<T> {
    METERS.with_borrow_mut(|meters| {
        meters.push(Meter {
            left: limit,
            until_look: BETWEEN_LOOKS,
            watch: Some(Box::new(watch)),
            stopped: None,
        });
    });
    let running = Running;
    let answer = analysis();
    let stopped = METERS.with_borrow(|meters| meters.last().and_then(|m| m.stopped.clone()));
    drop(running);
    stopped.map_or(Ok(answer), Err)
}

/// As [`metered`] for a part of an analysis: the work counts for the whole, too, and its caller is
/// asked as before.
///
/// # Errors
/// [`Error::OutOfWork`]; [`Error::Interrupted`] when the whole is to stop.
pub fn bounded<T>(limit: u64, analysis: impl FnOnce() -> T) -> Result<T> {
    let answer = metered(limit, || true, analysis)?;
    spend(0).map(|()| answer)
}

/// Returns the work that is left of the meter that was put on last; without one there is no limit.
pub fn left() -> u64 {
    METERS.with_borrow(|meters| meters.last().map_or(u64::MAX, |meter| meter.left))
}

/// Draws `units` of work from the meters of this thread, if there are any. Once it has failed, it
/// fails until the analysis ends.
///
/// # Errors
/// [`Error::OutOfWork`], [`Error::Interrupted`].
pub fn spend(units: usize) -> Result<()> {
    let units = units as u64;
    let due = METERS.with_borrow_mut(|meters| {
        let mut due = None;
        for (level, meter) in meters.iter_mut().enumerate() {
            if meter.stopped.is_none() && units > meter.left {
                meter.stopped = Some(Error::OutOfWork);
            }
            if let Some(stopped) = &meter.stopped {
                return Err(stopped.clone());
            }
            meter.left -= units;
            if units < meter.until_look {
                meter.until_look -= units;
            } else {
                meter.until_look = BETWEEN_LOOKS;
                due = due.or(Some(level));
            }
        }
        Ok(due)
    })?;
    due.map_or(Ok(()), ask)
}

/// Asks the caller of a meter whether to go on; without a borrow, for it may run analyses of its
/// own.
fn ask(level: usize) -> Result<()> {
    let taken = METERS.with_borrow_mut(|meters| meters.get_mut(level).and_then(|m| m.watch.take()));
    let Some(mut watch) = taken else {
        return Ok(());
    };
    let go_on = watch();
    METERS.with_borrow_mut(|meters| {
        let Some(meter) = meters.get_mut(level) else {
            return Ok(());
        };
        meter.watch = Some(watch);
        if go_on {
            return Ok(());
        }
        meter.stopped = Some(Error::Interrupted);
        Err(Error::Interrupted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(units: usize) -> Result<usize> {
        for done in 0..units {
            spend(1).map_err(|_| Error::Argument(done.to_string()))?;
        }
        Ok(units)
    }

    #[test]
    fn work_ends_at_its_limit_whatever_the_analysis_makes_of_it() {
        let mut reached = 0;
        let answer = metered(1000, || true, || reached = work(2000).unwrap_or(7));
        assert_eq!(answer, Err(Error::OutOfWork));
        assert_eq!(reached, 7);
        let exactly = || (work(1000), left());
        assert_eq!(metered(1000, || true, exactly), Ok((Ok(1000), 0)));
        assert_eq!(work(2000), Ok(2000), "no meter is left behind");
    }

    #[test]
    fn a_part_may_be_bounded_within_the_whole() {
        let whole = metered(
            3000,
            || true,
            || (bounded(1000, || work(2000)).err(), work(1000).ok()),
        );
        assert_eq!(whole, Ok((Some(Error::OutOfWork), Some(1000))));
        let whole = metered(
            1500,
            || true,
            || bounded(1000, || work(1000)).and(work(1000)),
        );
        assert_eq!(whole, Err(Error::OutOfWork), "the part counts");
    }

    #[test]
    fn the_caller_is_asked_and_may_stop_it() {
        let mut questions = 0;
        let watch = move || {
            questions += 1;
            questions < 3
        };
        assert_eq!(
            metered(u64::MAX, watch, || work(1_000_000)).err(),
            Some(Error::Interrupted)
        );
    }
}
