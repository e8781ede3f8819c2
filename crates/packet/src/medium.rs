//! A medium that several links share: one of them sends at a time.

use std::collections::VecDeque;

use ackclock_algorithms::service::Sharing;

/// Airtime that a link may have a round, ps (300 us: Linux 4.11, ath9k).
const AIRTIME_QUANTUM: i64 = 300_000_000;

/// A link on a medium.
#[derive(Clone, Copy, Debug)]
struct Member {
    link: usize,
    sharing: Sharing,
    /// Airtime that it may still have, ps.
    deficit: i64,
}

/// A medium: who sends, and who waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Medium {
    members: Vec<Member>,
    /// Members that wait for their turn, in order.
    waiting: VecDeque<usize>,
    /// The link that sends.
    pub(crate) holder: Option<usize>,
}

impl Medium {
    /// Adds a link.
    pub(crate) fn join(&mut self, link: usize, sharing: Sharing) {
        self.members.push(Member {
            link,
            sharing,
            deficit: AIRTIME_QUANTUM,
        });
    }

    /// Whether a link is on it.
    pub(crate) fn has(&self, link: usize) -> bool {
        self.members.iter().any(|member| member.link == link)
    }

    /// A link waits for its turn, behind the others unless it has airtime left.
    pub(crate) fn ask(&mut self, link: usize) {
        let Some(place) = self.members.iter().position(|member| member.link == link) else {
            return;
        };
        if self.waiting.contains(&place) {
            return;
        }
        let member = &mut self.members[place];
        if member.sharing == Sharing::Airtime && member.deficit > 0 {
            self.waiting.push_front(place);
            return;
        }
        // whoever goes to the end has more in the next round, so that a round is the same for all
        member.deficit = (member.deficit + AIRTIME_QUANTUM).min(AIRTIME_QUANTUM);
        self.waiting.push_back(place);
    }

    /// The link whose turn it is: the first that waits, of those by airtime the first with some left
    /// (deficit round robin).
    pub(crate) fn next(&mut self) -> Option<usize> {
        loop {
            let place = self.waiting.pop_front()?;
            let member = &mut self.members[place];
            if member.sharing == Sharing::Turns || member.deficit > 0 {
                return Some(member.link);
            }
            member.deficit += AIRTIME_QUANTUM;
            self.waiting.push_back(place);
        }
    }

    /// A link holds the medium for `airtime`, ps.
    pub(crate) fn hold(&mut self, link: usize, airtime: u64) {
        self.holder = Some(link);
        if let Some(member) = self.members.iter_mut().find(|member| member.link == link) {
            member.deficit = member.deficit.saturating_sub_unsigned(airtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Airtime of three links that always wait, of exchanges of 1, 2 and 5 ms.
    fn airtime(sharing: [Sharing; 3]) -> [u64; 3] {
        let exchange = [1_000_000_000, 2_000_000_000, 5_000_000_000];
        let mut medium = Medium::default();
        for (link, sharing) in sharing.into_iter().enumerate() {
            medium.join(link, sharing);
            medium.ask(link);
        }
        let mut had = [0; 3];
        for _ in 0..81_000 {
            let link = medium.next().unwrap();
            medium.hold(link, exchange[link]);
            had[link] += exchange[link];
            medium.ask(link);
        }
        had
    }

    #[test]
    fn airtime_is_equal_or_turns_are() {
        let equal = airtime([Sharing::Airtime; 3]);
        for had in equal {
            let share = had as f64 / equal.iter().sum::<u64>() as f64;
            assert!((share - 1.0 / 3.0).abs() < 1e-3, "{equal:?}");
        }
        let turns = airtime([Sharing::Turns; 3]);
        assert_eq!((turns[1] / turns[0], turns[2] / turns[0]), (2, 5));
    }
}
