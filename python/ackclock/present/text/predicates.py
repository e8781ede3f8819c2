"""The verdicts on time series in words."""

from __future__ import annotations

from typing import Final

_OSCILLATING: Final = "Cannot tell from this run whether the queue oscillates: {why}"
_STABLE: Final = "Cannot tell from this run whether the queue is stable: it deviates by {deviation:.0%} of its mean"
_CORRELATION: Final = "the mean correlation of {windows} is {value:.2f} ({low:.2f} to {high:.2f})"
_SYNCHRONISED: Final = "Cannot tell from this run whether the flows are synchronised"
_UNCONFIRMED: Final = "Cannot tell from a run of {seconds:time} whether the queue "
_CONTRADICTED: Final = "Cannot tell from runs of {seconds:time} whether the queue "
_ANOTHER: Final = "another seed shows the opposite; needs about {needs:at_least}."
_NO_OTHER: Final = "no run with another seed confirms it; needs about {needs:at_least}."

STATEMENTS: Final = {
    "empty": "The queue is always empty.",
    "nearly-empty": "The queue is empty most of the time: it holds {mean:.2g} packets on average.",
    "still": "The queue has no regular period.",
    "no-period": "The queue has no regular period of up to {longest:time}.",
    "oscillating": (
        "The queue oscillates with a period of {period:.3g} s and an amplitude of {amplitude:.0%} of its mean."
    ),
    "small": (
        "The queue has a period of {period:.3g} s, but its amplitude is {amplitude:little} of the mean "
        "(oscillating: at least {limit:.0%})."
    ),
    "oscillating-open": f"{_OSCILLATING}.",
    "oscillating-longer": f"{_OSCILLATING}; needs about {{needs:at_least}}.",
    "oscillating-hopeless": f"{_OSCILLATING}, and no run of sensible length would tell.",
    "oscillating-unconfirmed": f"{_UNCONFIRMED}oscillates: {_NO_OTHER}",
    "oscillating-contradicted": f"{_CONTRADICTED}oscillates: {_ANOTHER}",
    "short": "it is short compared with {slowest}",
    "brief": "it is short",
    "coarse": "its samples are {interval:spacing} apart, and must be {most:spacing} apart or less",
    "drifts": "it drifts",
    "level-moves": "its level still moves",
    "few-swings": "it shows too few of its slowest swings",
    "few-periods": "it shows too few periods",
    "irregular": "its period is not regular enough to be sure",
    "near-limit": "its amplitude lies near the limit",
    "stable": "The queue is stable: it deviates by {deviation:.0%} of its mean (stable: at most {limit:.0%}).",
    "unstable": ("The queue is not stable: it deviates by {deviation:.0%} of its mean (stable: at most {limit:.0%})."),
    "unstable-oscillates": ("The queue is not stable: it oscillates, and deviates by {deviation:.0%} of its mean."),
    "stable-short": f"{_STABLE}, and it is short compared with its slowest motion.",
    "stable-near": f"{_STABLE}, too near to the limit of {{limit:.0%}} for a run of this length.",
    "stable-open": f"{_STABLE}, and may oscillate.",
    "stable-unconfirmed": f"{_UNCONFIRMED}is stable: {_NO_OTHER}",
    "stable-contradicted": f"{_CONTRADICTED}is stable: {_ANOTHER}",
    "synchronised-unknown": "Synchronisation is unknown: it takes two flows whose windows vary.",
    "two-of": "two of the {moving} windows that change",
    "synchronised": f"The flows are synchronised: {_CORRELATION}.",
    "unsynchronised": f"The flows are not synchronised: {_CORRELATION} (synchronised: above {{limit:g}}).",
    "synchronised-few": f"{_SYNCHRONISED}: their windows show too few swings.",
    "synchronised-open": f"{_SYNCHRONISED}: {_CORRELATION} (synchronised: above {{limit:g}}).",
    "no-transfer": "No flow transferred anything.",
    "unstarved": "No flow is starved: the slowest gets {share:.0%} of the fair share.",
    "starved-one": "{count} of {flows} flows is starved: it gets less than {limit:.0%} of the fair share.",
    "starved": "{count} of {flows} flows are starved: they get less than {limit:.0%} of the fair share.",
    "no-second": "The window has no whole second.",
    "underused": "The link is underused at times: its worst second reaches {worst:.1%}.",
    "underused-open": (
        "Cannot tell whether the link is underused at times: its worst second reaches {worst:.1%}, and one packet more "
        "or less is {grain:.1%}."
    ),
    "busy": "The link is kept busy: its worst second reaches {worst:.1%}.",
}
