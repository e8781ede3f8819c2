"""
Quality of a voice call: the E-model of ITU-T G.107 (06/2015), from the delay, the jitter buffer and the loss.

The transmission rating R is R = Ro - Is - Id - Ie,eff + A; 100 is the best. The mean opinion score (MOS, 1 to 4.5) is
what listeners would say of a connection with this rating. Parameters that a network does not decide have the defaults
of G.107, table 2.

>>> rating = transmission_rating(0.0, 0.0)
>>> f"{rating:.1f} {mean_opinion_score(rating):.2f}"
'93.2 4.41'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..core._arrays import series


@dataclass(frozen=True)
class Codec:
    """A speech coder, as ITU-T G.113 (11/2007), appendix I, rates it."""

    name: str
    impairment: float
    """Equipment impairment factor Ie."""
    robustness: float
    """Packet-loss robustness factor Bpl, of losses at random."""
    packet: float = 0.02
    """Speech in a packet, s."""
    lookahead: float = 0.0
    """Delay of the coder beside that, s."""


G711: Final = Codec("G.711", 0.0, 4.3)
G711_PLC: Final = Codec("G.711 with packet-loss concealment", 0.0, 25.1)
G729A: Final = Codec("G.729A with voice activity detection", 11.0, 19.0, lookahead=0.005)


@dataclass(frozen=True)
class Parameters:
    """Parameters of G.107, table 2, that a network does not decide, with their defaults."""

    slr: float = 8.0
    """Send loudness rating, dB."""
    rlr: float = 2.0
    """Receive loudness rating, dB."""
    stmr: float = 15.0
    """Sidetone masking rating, dB."""
    lstr: float = 18.0
    """Listener sidetone rating, dB."""
    ds: float = 3.0
    """D-value of the telephone at the send side."""
    telr: float = 65.0
    """Talker echo loudness rating, dB."""
    wepl: float = 110.0
    """Weighted echo path loss, dB."""
    qdu: float = 1.0
    """Quantizing distortion units."""
    nc: float = -70.0
    """Electric circuit noise, dBm0p."""
    nfor: float = -64.0
    """Noise floor at the receive side, dBmp."""
    ps: float = 35.0
    """Room noise at the send side, dB(A)."""
    pr: float = 35.0
    """Room noise at the receive side, dB(A)."""
    advantage: float = 0.0
    """Advantage factor A."""
    sensitivity: float = 1.0
    """Delay sensitivity sT."""
    least_delay: float = 100.0
    """Minimum perceivable delay mT, ms."""


DEFAULTS: Final = Parameters()
_SIDETONE: Final = (9.0, 20.0)
"""Sidetone masking ratings below and above which echo is judged in another way, dB."""


def transmission_rating(
    delay: float,
    loss: float,
    codec: Codec = G711_PLC,
    *,
    burst_ratio: float = 1.0,
    echo_delay: float | None = None,
    echo_round_trip: float | None = None,
    parameters: Parameters = DEFAULTS,
) -> float:
    """
    Return the rating R of a connection.

    Parameters
    ----------
    delay
        From mouth to ear, s: Ta.
    loss
        Part of the packets that is lost or comes too late, 0..1: Ppl / 100.
    codec
        The speech coder.
    burst_ratio
        Mean length of bursts of losses over that of losses at random, 1 or more: BurstR.
    echo_delay, echo_round_trip
        Mean one-way delay of the echo path, T, and the round trip of the 4-wire loop, Tr, s; by default `delay` and
        twice that, as with echo at the far end.
    parameters
        Everything else.

    Raises
    ------
    ValueError
        If a delay is below zero, the loss not a share, or the burst ratio below 1.
    """
    if not (delay >= 0 and 0 <= loss <= 1 and burst_ratio >= 1):
        raise ValueError(
            f"a delay from 0 on, a loss from 0 to 1 and a burst ratio from 1 on, not {delay}, {loss} and {burst_ratio}"
        )
    absolute = 1e3 * delay
    echo = absolute if echo_delay is None else 1e3 * echo_delay
    round_trip = 2 * echo if echo_round_trip is None else 1e3 * echo_round_trip
    of = parameters
    noise = _noise(of)
    basic = 15 - 1.5 * (of.slr + noise)  # (7-2)
    sidetone = _sidetone(of, echo)
    delays = (
        _talker_echo(of, noise, echo, sidetone) + _listener_echo(of, basic, round_trip) + _absolute_delay(of, absolute)
    )
    percent = 100 * loss
    equipment = codec.impairment + (95 - codec.impairment) * percent / (percent / burst_ratio + codec.robustness)
    return basic - _simultaneous(of, basic, noise, sidetone) - delays - equipment + of.advantage  # (7-1), (7-29)


def _noise(of: Parameters) -> float:
    """Sum of the noise at the 0 dBr point, dBm0p: No, (7-3) to (7-7)."""
    loudness = of.slr + of.rlr
    send = of.ps - of.slr - of.ds - 100 + 0.004 * (of.ps - loudness - of.ds - 14) ** 2
    room = of.pr + 10 * math.log10(1 + 10 ** ((10 - of.lstr) / 10))
    receive = of.rlr - 121 + room + 0.008 * (room - 35) ** 2
    return 10 * math.log10(sum(10 ** (level / 10) for level in (of.nc, send, receive, of.nfor + of.rlr)))


def _sidetone(of: Parameters, echo: float) -> float:
    """Impairment by a sidetone that is not the best: Ist, (7-11) and (7-12)."""
    rating = -10 * math.log10(10 ** (-of.stmr / 10) + math.exp(-echo / 4) * 10 ** (-of.telr / 10))
    return float(
        12 * (1 + ((rating - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((rating + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((rating - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )


def _simultaneous(of: Parameters, basic: float, noise: float, sidetone: float) -> float:
    """Impairment together with the voice: Is, (7-8) to (7-17)."""
    excess = of.slr + of.rlr + 0.2 * (64 + noise - of.rlr)
    loudness = 20 * ((1 + (excess / 8) ** 8) ** (1 / 8) - excess / 8)
    quantizing = 37 - 15 * math.log10(of.qdu)
    distortion = 1.07 + 0.258 * quantizing + 0.0602 * quantizing**2
    y = (basic - 100) / 15 + 46 / 8.4 - distortion / 9
    z = 46 / 30 - distortion / 40
    return float(loudness + sidetone + 15 * math.log10(1 + 10**y + 10**z))


def _talker_echo(of: Parameters, noise: float, echo: float, sidetone: float) -> float:
    """Impairment by talker echo: Idte, (7-19) to (7-24); `echo` in ms."""
    low, high = _SIDETONE
    heard = of.telr - 40 * math.log10((1 + echo / 10) / (1 + echo / 150)) + 6 * math.exp(-0.3 * echo**2)
    heard += sidetone / 2 if of.stmr < low else 0.0
    rating, quiet = 80 + 2.5 * (heard - 14), -1.5 * (noise - of.rlr)
    impairment = 0.0
    if echo >= 1:
        half = (quiet - rating) / 2
        impairment = (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-echo))
    return math.hypot(impairment, sidetone) if of.stmr > high else impairment


def _listener_echo(of: Parameters, basic: float, round_trip: float) -> float:
    """Impairment by listener echo: Idle, (7-25) and (7-26); `round_trip` in ms."""
    half = (basic - 10.5 * (of.wepl + 7) * (round_trip + 1) ** -0.25) / 2
    return float(half + math.sqrt(half**2 + 169))


def _absolute_delay(of: Parameters, absolute: float) -> float:
    """Impairment by delay alone: Idd, (7-27) and (7-28); `absolute` in ms."""
    if absolute <= of.least_delay:
        return 0.0
    x, power = math.log2(absolute / of.least_delay), 6 * of.sensitivity
    return float(25 * ((1 + x**power) ** (1 / power) - 3 * (1 + (x / 3) ** power) ** (1 / power) + 2))


_BEST: Final = 100.0


def mean_opinion_score(rating: float) -> float:
    """Return the mean opinion score of a rating R: 1 at 0 and below, 4.5 from 100 on (G.107, annex B)."""
    if rating <= 0:
        return 1.0
    if rating >= _BEST:
        return 4.5
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)


SATISFACTION: Final = (
    (90.0, "very satisfied"),
    (80.0, "satisfied"),
    (70.0, "some users dissatisfied"),
    (60.0, "many users dissatisfied"),
    (50.0, "nearly all users dissatisfied"),
)
"""The lowest ratings at which users are so satisfied: G.107, table B.1."""


def satisfaction(rating: float) -> str:
    """Return what G.107, table B.1, says of users at a rating R."""
    return next((words for least, words in SATISFACTION if rating >= least), "not recommended")


@dataclass(frozen=True)
class Call:
    """One direction of a call, with the jitter buffer that serves it best."""

    rating: float
    """R."""
    delay: float
    """From mouth to ear, s."""
    playout: float
    """Time from a packet's sending to its playing, s: the network and the jitter buffer."""
    late: float
    """Part of the packets that comes later than that, 0..1."""
    lost: float
    """Part of the packets that never comes."""

    @property
    def mos(self) -> float:
        """The mean opinion score."""
        return mean_opinion_score(self.rating)

    @property
    def words(self) -> str:
        """The satisfaction of users, as G.107 has it."""
        return satisfaction(self.rating)


def call(edges: ArrayLike, counts: ArrayLike, lost: float, codec: Codec = G711_PLC) -> Call:
    """
    Return the quality of a call whose packets took these times.

    A jitter buffer plays every packet at a fixed time after it was sent; what comes later is lost. Of all such times
    the one with the highest rating is taken: no buffer of a fixed size does better.

    Parameters
    ----------
    edges, counts
        A histogram of the one-way delays: upper edge of each bin, s, ascending, and the packets in it.
    lost
        Part of the packets that did not arrive, 0..1.
    codec
        The speech coder.

    Raises
    ------
    ValueError
        If the histogram is empty or no histogram, or `lost` no share.

    Examples
    --------
    >>> short = call([0.020, 0.021], [50, 50], 0.0)
    >>> long = call([0.020, 0.400], [50, 50], 0.0)
    >>> short.mos > 4.3, long.mos < 3.5
    (True, True)
    """
    upper, number = series(edges, "edges"), series(counts, "counts")
    if upper.shape != number.shape or number.sum() <= 0 or (np.diff(upper) <= 0).any():
        raise ValueError("one count for each of the ascending edges, and at least one packet")
    in_time = np.cumsum(number) / number.sum()
    best: Call | None = None
    for play, part in zip(upper.tolist(), in_time.tolist(), strict=True):
        late = max(1.0 - part, 0.0)
        delay = codec.packet + codec.lookahead + play
        rating = transmission_rating(delay, min(lost + (1 - lost) * late, 1.0), codec)
        if best is None or rating > best.rating:
            best = Call(rating, delay, play, late, lost)
    assert best is not None
    return best
