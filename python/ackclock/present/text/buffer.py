"""How large a buffer has to be, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import pandas as pd

from ...core._words import called, counted, listed
from ...core.units import rate_text, share, share_within, time, time_over_seeds
from ...questions.buffer import MIN_FLOWS_FOR_AVERAGES, Buffer, Size
from ...questions.causes.scales import bulk, quantities
from ...questions.endpoint_style import styles
from ..tables import text_table

PROBE: Final = ("probe_rtt_interval", "probe_rtt_duration")
"""Keys of a congestion control that measures the round trip with a small window: how often, and for how long."""
IN_FLIGHT: Final = {"bbr": "four packets", "bbr3": "half the packets"}
"""That window (draft-cardwell-iccrg-bbr-congestion-control-00, 4.3.5; draft-ietf-ccwg-bbr, BBRProbeRTTCwndGain)."""
NEAR = 0.01
"""Utilisations of packets and equations that differ by less agree."""

STATEMENTS: Final = {
    "mean-field": "{link}: mean-field equations over {seconds:time}",
    "steps": "at a round trip of {rtt:time} {seconds:time} of a run are {steps:.0f} million of their steps: too many",
    "part": "{link}: packets with the flows, the rate and the buffer divided by {divisor}",
}


def text(buffer: Buffer) -> str:
    """Return the sentences, and the table of all sizes."""
    controls = listed([called(control) for control in buffer.controls])
    rate = rate_text(buffer.rate)
    if buffer.frames:
        rate += f" (what frames at {rate_text(buffer.frames)} carry)"
    where = f" at {buffer.link}" if len(buffer.scenario.canonical["link"]) > 1 else ""
    head = f"{counted(buffer.flows, 'flow')} of {controls} over {rate}{where}, round trip {time(buffer.rtt)}"
    own = styles(buffer.scenario.canonical["flows"])
    head += f', TCP endpoints in style "{own}"' * bool(own)
    return "\n".join([*sentences(buffer), "", head, "", text_table(table(buffer))])


def sentences(buffer: Buffer) -> list[str]:
    """Return the size that is enough, its price beside the rules of thumb, and what this rests on."""
    where = f"{buffer.link}: " if len(buffer.scenario.canonical["link"]) > 1 else ""
    return [f"{where}{_enough(buffer)}", *_price(buffer), _equations(buffer), _rests(buffer)]


def table(buffer: Buffer) -> pd.DataFrame:
    """Return what packets and equations say of each size, as text."""
    rows = {}
    for size in buffer.sizes:
        name = counted(size.packets, "packet") + " (now)" * (size is buffer.now)
        rows[name] = {
            "time": time(size.seconds),
            "BDP": f"{size.bdp:.2g}",
            "utilisation": _used(size),
            "mean wait": _known(size.delay_mean, size.delay_mean_half),
            "99 % wait at most": _known(size.delay_p99, size.delay_p99_half),
            "dropped": "" if math.isnan(size.loss) else _within(size.loss, size.loss_half),
        }
        if not buffer.reason and size.equations is not None:
            rows[name] |= {
                "utilisation, equations": share(size.equations.utilization),
                "mean wait, equations": time(size.equations.delay_mean) + " (moving)" * (not size.equations.settled),
            }
    frame = pd.DataFrame.from_dict(rows, orient="index").fillna("")
    frame.index.name = "buffer"
    return frame


def _used(size: Size) -> str:
    if math.isnan(size.utilization):
        return "needs longer runs"
    return _within(size.utilization, size.half)


def _within(used: float, half: float) -> str:
    """Return a share with its interval, where it has one."""
    return share(used) if share(half) == share(0.0) else share_within(used, half)


def _known(seconds: float, half: float) -> str:
    if math.isnan(seconds):
        return ""
    return time_over_seeds(seconds, half)


def _products(bdp: float) -> str:
    text = f"{bdp:.2g}"
    return f"{text} bandwidth-delay product{'' if text == '1' else 's'}"


def _size(size: Size) -> str:
    return f"{counted(size.packets, 'packet')} ({time(size.seconds)}, {_products(size.bdp)})"


def _packets(sizes: Sequence[Size]) -> str:
    """Return several sizes in packets: "8, 12 and 18 packets"."""
    return f"{listed([str(size.packets) for size in sizes])} packet{'s' * (sizes[-1].packets != 1)}"


def _more(buffer: Buffer) -> str:
    """Name the option that goes on, where it was not given."""
    return "" if buffer.until_sure else " (--until-sure)"


def _enough(buffer: Buffer) -> str:
    target, high, low = share(buffer.target), buffer.enough, buffer.too_small
    last = buffer.sizes[-1]
    measured = [size for size in buffer.sizes if not math.isnan(size.utilization)]
    if not measured:
        return (
            f"Cannot tell: runs as long as this link needs ({time(last.length)}) take too many packets"
            f"{'' if buffer.until_sure else '; go on with --until-sure'}."
        )
    reach = [size for size in measured if size.decided(buffer.target) and (low is None or size.packets < low.packets)]
    smaller = f" It is reached with {_packets(reach)}, too, but not with all sizes between." if reach else ""
    if high is None:
        if last.decided(buffer.target) is False and reach:
            return (
                f"More is not always enough for a utilisation of {target}: it is reached with {_packets(reach)}, but "
                f"with {_size(last)} it is {_used(last)}."
            )
        if last.decided(buffer.target) is False:
            head = f"No buffer that was tried is enough for a utilisation of {target}"
        else:
            head = f"Cannot tell which buffer is enough for a utilisation of {target}"
        largest = measured[-1]
        more = "" if largest is last else f"; larger ones need longer runs{_more(buffer)}"
        if largest is last and largest.loss == 0:
            more = "; a larger one would change nothing, since with this one no packet is dropped"
        why_not = _full(largest) or _acks(buffer, largest) or _probes(buffer)
        return f"{head}: with {_size(largest)} it is {_used(largest)}{more}.{smaller}{why_not}"
    if high is buffer.sizes[0]:
        return (
            f"The smallest buffer that was tried is enough for a utilisation of {target}: with {_size(high)} it is "
            f"{_used(high)}."
        )
    head = f"A buffer of {_size(high)} is enough for a utilisation of {target}: it is {_used(high)}"
    if low is None:
        return f"{head}; whether less is enough cannot be told."
    open_ = any(low.packets < size.packets < high.packets for size in buffer.sizes)
    return (
        f"{head}, and {_used(low)} with {counted(low.packets, 'packet')}{'; between them it cannot be told' * open_}"
        f".{smaller}"
    )


def _full(size: Size) -> str:
    """Say which other link holds the flows back: no buffer here makes up for that."""
    if not size.full:
        return ""
    return f" {listed(list(size.full))}, which these flows cross, too, {'are' if size.full[1:] else 'is'} full."


def _acks(buffer: Buffer, size: Size) -> str:
    """Say where ACKs wait behind other data for longer than the round trip: no buffer here makes up for that."""
    links = [link for link, wait in size.ack_waits.items() if wait > buffer.rtt]
    if not links:
        return ""
    return (
        f" The ACKs of its flows wait behind other data at {listed(links)}, where half of the packets wait for longer "
        f"than the round trip of {time(buffer.rtt)}."
    )


def _probes(buffer: Buffer) -> str:
    """Say how long senders send next to nothing to measure the round trip, where all do that for more than is left."""
    tree = buffer.scenario.canonical
    controls = [flow["congestion"] for flow in bulk(tree, buffer.link)]
    times = {tuple(quantities(own.get(key, ""))[0] for key in PROBE) for own in controls if PROBE[0] in own}
    if len({own["kind"] for own in controls}) != 1 or len(times) != 1 or controls[0]["kind"] not in IN_FLIGHT:
        return ""
    ((every, lasts),) = times
    if lasts / every <= 1 - buffer.target:
        return ""
    return (
        f" {called(controls[0]['kind'])} has {IN_FLIGHT[controls[0]['kind']]} in flight for {time(lasts)} of every "
        f"{time(every)}, in which it measures the round trip, whatever the buffer."
    )


def _price(buffer: Buffer) -> list[str]:
    enough = buffer.enough
    root = f", divided by the root of {buffer.flows} flows {_whole(buffer.root)}" if buffer.flows > 1 else ""
    product = _whole(buffer.product)
    rules = f"The rule of rate times round trip says {product} packet{'s' * (product != '1')}{root}."
    if enough is None:
        return [f"{_now(buffer)} {rules}".strip()]
    return [f"With it {_costs(enough)}.{_now(buffer)} {rules}"]


def _costs(size: Size) -> str:
    """Say what a size costs in waits and losses."""
    wait = _known(size.delay_mean, size.delay_mean_half)
    longest = _known(size.delay_p99, size.delay_p99_half)
    return f"the mean wait is {wait}, 99 % wait at most {longest}, and {_within(size.loss, size.loss_half)} are dropped"


def _now(buffer: Buffer) -> str:
    """Say what the present size gives, beside that which is enough."""
    now = buffer.now
    if now is None or (buffer.enough is None and now is buffer.sizes[-1]):  # of which the answer begins
        return ""
    if now is buffer.enough:
        return " It is the present one."
    if math.isnan(now.utilization):
        return f" What the present {_size(now)} give needs longer runs{_more(buffer)}."
    return f" With the present {_size(now)} the utilisation is {_used(now)}, {_costs(now)}."


def _whole(packets: float) -> str:
    """Return a number of packets, whole unless it is small: a product of 0.4 packets is not 0."""
    return f"{packets:.0f}" if packets >= 9.5 else f"{packets:.2g}"  # noqa: PLR2004  two digits


def _equations(buffer: Buffer) -> str:
    if buffer.reason:
        return f"The equations say nothing: {buffer.reason}."
    said, worst = buffer.by_equations, buffer.apart
    none = f"By the equations no size{_moving(buffer)} is enough"
    what = f"The equations say {counted(said.packets, 'packet')}{_fewer(buffer, said)}" if said else none
    if not any(size.equations and size.equations.settled for size in buffer.sizes):
        span = time(max(size.length for size in buffer.sizes))
        return f"The equations say nothing: their queue still moves at the end of {span}."
    if worst is None or worst.equations is None:
        return f"{what}; {_part(buffer)}"
    if worst.gap <= NEAR + worst.half:
        gap = max(size.gap for size in buffer.sizes)
        digits = max(0, -math.floor(math.log10(100 * gap))) if gap > 0 else 0
        points = f"{math.ceil(100 * gap * 10**digits) / 10**digits:.{digits}f}"  # up: they are not farther apart
        return f"{what}; at every size they agree with packets within {points} points of utilisation."
    few = f": averages hold for many flows, and there {'is' if buffer.flows == 1 else 'are'} {buffer.flows}"
    return (
        f"{what}; with {counted(worst.packets, 'packet')} they give {share(worst.equations.utilization)} where packets "
        f"have {share(worst.utilization)}. Trust the packets{few * (buffer.flows < MIN_FLOWS_FOR_AVERAGES)}."
    )


def _fewer(buffer: Buffer, said: Size) -> str:
    """Return what the equations say of sizes below the smallest from which on they reach the target."""
    if said is buffer.sizes[0]:
        return " or fewer" * (said.packets > 1)
    below = [(size, size.equations) for size in buffer.sizes if size.equations and size.packets < said.packets]
    reach = [size for size, own in below if own.utilization >= buffer.target]
    if not reach:
        return ""
    last, own = below[-1]
    if reach[-1] is last:
        return f" or fewer: with {counted(last.packets, 'packet')} their queue still moves" * (not own.settled)
    return ", from which on every size is enough"


def _moving(buffer: Buffer) -> str:
    """Which sizes are meant, where others reach the target while their queue still moves."""
    moving = (size.equations for size in buffer.sizes if size.equations and not size.equations.settled)
    return " at which their queue settles" if any(own.utilization >= buffer.target for own in moving) else ""


def _part(buffer: Buffer) -> str:
    """Return how far equations are to be trusted that no packet run of the link itself checks."""
    part = buffer.part
    if part is None:
        return "no packet run checks them, so do not rely on them."
    used = _within(part.utilization, part.half)
    head = (
        f"no packet run of this link checks them. With the flows, the rate and the buffer of "
        f"{counted(part.packets, 'packet')} divided by {part.divisor}, for which they say the same "
        f"{share(part.equations)}, packets have {used}"
    )
    far = abs(part.utilization - part.equations) > NEAR + part.half
    return f"{head}: do not rely on them here." if far else f"{head}."


def _rests(buffer: Buffer) -> str:
    ran = [size for size in buffer.sizes if size.seeds]
    parts = []
    if ran:
        seeds, lengths = sorted({size.seeds for size in ran}), sorted({size.length for size in ran})
        spans = f"{time(lengths[0])} to {time(lengths[-1])}" if len(lengths) > 1 else time(lengths[0])
        more = f", {seeds[-1]} where fewer do not decide" if len(seeds) > 1 else ""
        runs = f"{counted(seeds[0], 'packet run')} of {spans}{f' at each of {len(ran)} sizes' * (len(ran) > 1)}{more}"
        parts.append(f"{runs}; ± is the 95 % interval")
    if len(ran) < len(buffer.sizes):
        short = len(buffer.sizes) - len(ran)
        parts.append(f"{counted(short, 'size needs', 'sizes need')} longer runs{_more(buffer)}")
    alike = " All flows have the same round trip and may lose together, which asks for more."
    return f"{'Rests on ' * bool(ran)}{'; '.join(parts)}.{alike * (buffer.alike and _asks_for_more(ran))}"


def _asks_for_more(ran: Sequence[Size]) -> bool:
    """Return whether packets are lost at the smallest size, and the largest decidedly uses more of the link."""
    least, most = (ran[0], ran[-1]) if ran else (None, None)
    return bool(least and most and least.loss > 0 and most.utilization - most.half > least.utilization + least.half)
