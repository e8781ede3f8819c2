//! Effects of a link on packets beside queueing: policing, shaping, losses on the wire, jitter.

use ackclock_algorithms::impairment::{AnyLoss, Discipline, Loss as _, LossSpec, TokenBucket};
use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::{Distribution, Link};

use crate::draw::draw;

/// All of them; each only where the scenario asks for it.
#[derive(Default)]
pub(crate) struct Impairments {
    pub(crate) policer: Option<TokenBucket>,
    shaper: Option<Shaper>,
    loss: Option<(AnyLoss, Stream)>,
    jitter: Option<Jitter>,
}

struct Shaper {
    rate: f64,
    bucket: TokenBucket,
    discipline: Discipline,
}

struct Jitter {
    delay: Distribution,
    random: Stream,
    packets: u32,
}

impl Impairments {
    /// Returns the impairments of a link, whose random streams follow `entity`.
    pub(crate) fn new(link: &Link, seed: u64, entity: u64) -> Self {
        Self {
            policer: link
                .policer
                .map(|params| TokenBucket::new(params.rate, params.burst)),
            shaper: link.shaper.map(|params| Shaper {
                rate: params.rate,
                bucket: TokenBucket::new(params.rate, params.burst),
                discipline: params.discipline,
            }),
            loss: link.loss.map(|loss| {
                let mut random = Stream::new(seed, Owner::Loss, entity);
                (loss.build(&mut random), random)
            }),
            jitter: link.jitter.as_ref().map(|jitter| Jitter {
                delay: jitter.delay.clone(),
                random: Stream::new(seed, Owner::Jitter, entity),
                packets: 0,
            }),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.policer.is_none()
            && self.shaper.is_none()
            && self.loss.is_none()
            && self.jitter.is_none()
    }

    /// The rate of the shaper, bit/s, if there is one.
    pub(crate) fn shaped(&self) -> Option<f64> {
        self.shaper.as_ref().map(|shaper| shaper.rate)
    }

    /// Whether a packet may join the queue.
    pub(crate) fn admits(&mut self, now: u64, size: u32) -> bool {
        self.policer
            .as_mut()
            .is_none_or(|bucket| bucket.admits(Time(now), size))
    }

    /// When the transmission of a packet that leaves the queue at `now` begins.
    pub(crate) fn begins(&mut self, now: u64, size: u32) -> u64 {
        let Some(Shaper {
            bucket, discipline, ..
        }) = &mut self.shaper
        else {
            return now;
        };
        let at = match discipline {
            Discipline::Tbf => bucket.conforms_at(Time(now), size),
            Discipline::Htb => Time(now),
        };
        bucket.take(at, size);
        at.0
    }

    /// The bucket of a shaper that leaves packets in the queue until they may go.
    fn overdrawable(&self) -> Option<&TokenBucket> {
        let shaper = self.shaper.as_ref()?;
        (shaper.discipline == Discipline::Htb).then_some(&shaper.bucket)
    }

    /// From when on, at the earliest at `now`, another packet may leave the queue.
    pub(crate) fn open_from(&self, now: u64) -> u64 {
        self.overdrawable()
            .map_or(now, |bucket| bucket.settled_at(Time(now)).0)
    }

    /// From when on what a link that was free at `free` does not send is lost to it: until the bucket
    /// of its shaper is full it pays for what has been sent, or saves for what comes.
    pub(crate) fn idle_from(&self, free: u64) -> u64 {
        self.shaper
            .as_ref()
            .map_or(free, |shaper| shaper.bucket.full_at().0.max(free))
    }

    /// From now on packets are lost by another model, which draws from the same stream.
    pub(crate) fn set_loss(&mut self, loss: &LossSpec) {
        if let Some((model, random)) = &mut self.loss {
            *model = loss.build(random);
        }
    }

    /// Whether the wire loses the next packet.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss
            .as_mut()
            .is_some_and(|(model, random)| model.loses(random))
    }

    /// True if propagation delays have an addition ([`Impairments::extra_delay`]).
    #[inline]
    pub(crate) fn has_jitter(&self) -> bool {
        self.jitter.is_some()
    }

    /// Returns the addition to the next packet's propagation delay, ps.
    pub(crate) fn extra_delay(&mut self) -> u64 {
        let Some(Jitter {
            delay,
            random,
            packets,
        }) = &mut self.jitter
        else {
            return 0;
        };
        let index = *packets;
        *packets = packets.wrapping_add(1);
        Time::from_seconds(draw(delay, 0.0, index, 1, random)).0
    }
}
