"""Whether a node bears more subscribers, against arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from ackclock.core.simulate import run
from ackclock.core.tc import libreqos
from ackclock.core.units import rate_text
from ackclock.experiment.sequential import SUBSCRIBERS
from ackclock.questions import provider
from ackclock.questions.provider import Hour, Mix, ProviderError, Subscribers, busy_hour, subscribers
from conftest import Command

NETWORK = (
    '{"Site": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 50, "children": '
    '{"AP": {"downloadBandwidthMbps": 20, "uploadBandwidthMbps": 10}}}}'
)
HEAD = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps"
FILES = ("network.json", NETWORK), ("ShapedDevices.csv", HEAD + "".join(f"\n{k},AP,1,1,10,5" for k in range(10)))


def test_calls_take_what_they_send() -> None:
    """Ten calls of 85.6 kbit/s are 4.3 % of 20 Mbit/s, twenty 8.6 %; nobody waits."""
    answer = subscribers(*FILES, "AP", 10, mix=Mix(0, 0, 1.0, 0), samples=1, duration=5)
    assert answer.now.utilization == pytest.approx(0.0428, abs=0.0005)
    assert answer.after.utilization == pytest.approx(0.0856, abs=0.001)
    assert (answer.now.count, answer.after.count, answer.now.full, answer.after.full) == (10, 20, 0.0, 0.0)
    assert np.allclose(answer.after.rates, 85_600, rtol=0.01)
    assert answer.after.delays.max() < 0.001
    each = answer.json()["after"]["each"]
    assert len({row["subscriber"] for row in each}) == 20
    assert {row["traffic"] for row in each} == {"cbr"}


def test_subscribers_below_a_node_are_not_said_to_be_at_it() -> None:
    """ "Full in 0 %" of a site, beside downloads of 1.12 Mbit/s through its access point, to which all were added."""
    answer = subscribers(*FILES, "Site", 3, mix=Mix(0, 0, 1.0, 0), samples=1, duration=1)
    assert "copies of those there are, 3 at AP: --node says whether such a node is full." in str(answer)


def test_the_others_do_the_same_beside_more_subscribers() -> None:
    """What happens to a node is then the work of those who are added: it was full less often with 60 more."""
    node = libreqos.Node("AP", (300e6, 60e6))
    circuits = [libreqos.Circuit(f"{k}", "AP", (1e6, 1e6), (10e6, 5e6)) for k in range(90)]
    node.circuits.extend(circuits)
    few, many = (busy_hour(node, circuits[:count], 0, Mix(), 3, 5.0) for count in (60, 90))
    assert few is not None
    assert many is not None
    flows = [[flow["name"] for flow in scenario.canonical["flows"]] for scenario in (few, many)]
    assert 10 < len(flows[0]) < len(flows[1])
    assert flows[1][: len(flows[0])] == flows[0]


def test_pages_are_not_opened_all_at_once() -> None:
    """Forty pages of 2 MB every ten seconds or so are 60 of 100 Mbit/s, from the first second on."""
    devices = HEAD + "".join(f"\n{k},Site,1,1,20,5" for k in range(40))
    answer = subscribers(FILES[0], ("d.csv", devices), "Site", 0, mix=Mix(0, 1.0, 0, 0), samples=4, duration=3)
    assert answer.now.utilization == pytest.approx(0.6, abs=0.15)
    assert answer.now.full < 0.2


def test_the_words_are_of_the_direction() -> None:
    """Upload: "15 % watch a video of 5 Mbit/s" of those who send one, and "a download gets" what an upload does."""
    for way, words in (("download", "watch a video of"), ("upload", "send a video of")):
        answer = str(subscribers(*FILES, "AP", 0, way=way, mix=Mix(0.5, 0, 0, 0.5), samples=1, duration=2))
        assert words in answer
        assert f"and 50.0 % {way}." in answer
        assert f"{'an' if way == 'upload' else 'a'} {way} gets" in answer
        assert ("download" in answer) == (way == "download")


def test_downloads_share_what_there_is() -> None:
    """Ten downloads of at most 10 Mbit/s fill 20 Mbit/s, each with 2; with ten more each has 1."""
    answer = subscribers(*FILES, "AP", 10, mix=Mix(0, 0, 0, 1.0), samples=1, duration=8)
    assert answer.now.utilization > 0.99
    assert answer.after.full == 1.0
    assert answer.now.downloads == pytest.approx(2e6, rel=0.05)
    assert answer.after.downloads == pytest.approx(1e6, rel=0.05)


def test_only_the_same_downloads_are_compared() -> None:
    """With twenty more one download gets less, though the median of all downloads, other plans among them, rises."""
    devices = HEAD + "".join(f"\n{k},Site,1,1,{4 if k % 4 else 90},5" for k in range(8))
    answer = subscribers(FILES[0], ("d.csv", devices), "Site", 20, mix=Mix(0, 0, 0, 0.25), samples=6, duration=4)
    now, after, count = answer.downloads
    each = answer.now.each
    assert count == len(each) > 2
    assert now.value == pytest.approx(each["rate_bps"].median())
    kept = answer.after.each.merge(each, on=["sample", "subscriber"], suffixes=("", "_now"))
    assert after.value == pytest.approx(kept["rate_bps"].median())
    assert f"median of the {count} there are now" in answer.sentence
    # the table had the median of all downloads
    assert all(str(answer).count(rate_text(rate.value)) >= 2 for rate in (now, after))
    assert ("brackets" in str(answer)) == ("[" in str(answer))
    low, high = answer.after.full_bounds
    shares = [np.mean(sample >= provider.FULL) for sample in np.split(answer.after.seconds, 6)]
    assert 0 <= low <= np.mean(shares) <= high <= 1
    assert answer.after.full == pytest.approx(np.mean(shares))


def test_few_samples_do_not_tell_that_a_node_is_never_full() -> None:
    """ "Full in 0 % of the busy hour" of three samples: seven in ten may have it."""
    answer = subscribers(*FILES, "AP", 0, mix=Mix(0, 0, 1.0, 0), samples=3, duration=2)
    assert answer.now.full == 0
    assert answer.now.full_bounds == pytest.approx((0.0, 1 - 0.025 ** (1 / 3)))
    assert "full in 0.0 [0.0, 70.8] % of the busy hour" in answer.sentence


def test_a_download_has_no_more_than_its_plan() -> None:
    """At the site, which sends 100 Mbit/s, the access point and the plan hold."""
    answer = subscribers(*FILES, "Site", 0, mix=Mix(0, 0, 0, 0.1), samples=4, duration=6)
    assert answer.now.rates.max() <= 10.1e6
    assert answer.now.utilization < 0.21
    assert answer.now.json() == answer.after.json()
    assert " Site with 10 subscribers: full in" in answer.sentence
    assert "now" not in answer.sentence  # nothing was added
    assert "0 more" not in str(answer)


def test_nothing_is_run_twice_where_nobody_is_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Mock(side_effect=run)
    monkeypatch.setattr(provider, "parallel", lambda sample, jobs, **_: [sample(job) for job in jobs])
    monkeypatch.setattr(provider, "run", counted)
    answer = subscribers(*FILES, "AP", 0, mix=Mix(0, 0, 1.0, 0), samples=2, duration=3)
    assert [call.kwargs["seed"] for call in counted.call_args_list] == [1, 2]
    assert list(answer.hours) == ["now"]
    answer.draw(tmp_path / "ap.svg")
    assert "10 more" not in (tmp_path / "ap.svg").read_text(encoding="utf-8")
    more = subscribers(*FILES, "AP", 5, mix=Mix(0, 0, 1.0, 0), samples=2, duration=3)
    assert counted.call_count == 6
    assert more.hours == {"now": more.now, "5 more": more.after}


def test_mistakes() -> None:
    for node, more, mix, said in (
        ("AQ", 1, Mix(), 'there is no node "AQ"; there are Site, AP'),
        ("AP", -1, Mix(), "more must be 0 or more, not -1"),
        ("AP", 1, Mix(video=1.0), "at most 1"),
    ):
        with pytest.raises(ProviderError) as raised:
            subscribers(*FILES, node, more, mix=mix)
        assert said in str(raised.value)


def test_shares_above_one_are_added_up() -> None:
    with pytest.raises(ProviderError, match=r"video 0.9, web 0.1, call 0.05, download 0.005 make 1.05"):
        subscribers(*FILES, "AP", 0, mix=Mix(video=0.9))


def test_command(ackclock: Command, tmp_path: Path) -> None:
    paths = []
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
        paths.append(tmp_path / name)
    video = ("--video-rate", "2500kbit")
    few = ("--samples", "1", "--duration", "3s", "--call", "0.9", "--video", "0", "--web", "0", "--download", "0")
    done = ackclock("subscribers", *paths, "--node", "AP", "--more", "5", *few, *video, "--plot", tmp_path / "ap.svg")
    assert done.returncode == 0
    assert "watch a video of 2.5 Mbit/s" in done.stdout
    assert "AP with 5 more subscribers (15): full in 0 % [?, ?] of the busy hour (now 0 % [?, ?]);" in done.stdout
    assert (tmp_path / "ap.svg").read_text(encoding="utf-8").startswith("<?xml")
    done = ackclock("subscribers", *paths, "--node", "AQ")
    assert (done.returncode, done.stderr) == (2, 'ackclock subscribers: there is no node "AQ"; there are Site, AP\n')


def test_without_a_download_in_the_samples_none_has_a_rate() -> None:
    """ "a download gets nan bit/s"."""
    answer = subscribers(*FILES, "AP", 0, mix=Mix(0, 0, 1.0, 0), samples=1, duration=5)
    assert "in no sample is there a download" in answer.sentence
    assert "nan" not in str(answer)


def test_a_node_has_no_more_than_the_one_above_it() -> None:
    """LibreQoS gives a node the bandwidth of the one above it where its own is larger; here it kept its own."""
    network = (
        '{"Site": {"downloadBandwidthMbps": 60, "uploadBandwidthMbps": 10, "children": '
        '{"AP": {"downloadBandwidthMbps": 80, "uploadBandwidthMbps": 5}}}}'
    )
    [site] = libreqos.network(network, "network.json")
    assert site.children[0].rates == (60e6, 5e6)


def hour(count: int, full: list[float], delays: list[float], downloads: dict[int, float]) -> Hour:
    """Return a busy hour of samples of ten seconds, in each of which one watches, and in some one downloads."""
    rows = [(k, f"v{k}", "app-limited", delay, 5e6) for k, delay in enumerate(delays)]
    rows += [(k, f"d{k}", "bulk", delays[k], rate) for k, rate in downloads.items()]
    each = pd.DataFrame(rows, columns=["sample", "subscriber", "traffic", "delay_p95_s", "rate_bps"])
    seconds = np.concatenate([np.where(np.arange(10) < round(10 * part), 1.0, 0.5) for part in full])
    bounds = provider._bounds(full)
    rate = float(np.median(list(downloads.values())))
    return Hour(count, float(np.mean(full)), bounds, float(seconds.mean()), each, rate, seconds)


def test_few_samples_tell_no_order() -> None:
    """
    "A download gets 22.2 Mbit/s (now 35.1 Mbit/s)", of three in two samples; other seeds said 25.1, 33.4 and 29.6.

    "60 subscribers full in 1.2 %, 30 in 4.2 %" came of one sample.
    """
    now = hour(30, [0.0] * 7 + [0.3], [0.001, 0.002] * 4, {1: 34e6, 7: 36e6})
    after = hour(60, [0.0] * 7 + [0.1], [0.003, 0.001] * 4, {1: 27e6, 7: 21e6})
    answer = Subscribers("AP", 30, "download", 1e8, now, after, 8, 10.0, Mix())
    assert answer.bears is None
    assert answer.sentence.startswith("Cannot tell from 8 samples whether AP bears 30 more subscribers (is full in at ")
    assert f"(--samples {math.ceil(answer.needs)})." in answer.sentence
    assert "a download gets 24 Mbit/s [?, ?] (now 35 Mbit/s [?, ?]" in answer.sentence
    assert "2 samples with a download are too few to tell of others" in answer.sentence
    said = "from these samples whether that differs from now: how often it is full, how long packets wait and what a "
    assert said in answer.sentence
    assert "? an end that so few leave open" in str(answer)
    assert answer.json()["now"]["download_bounds"] == [None, None]


def test_what_samples_tell_is_said() -> None:
    """It promised to "say whether a site bears more" and gave no verdict."""
    downloads = {k: 30e6 + 1e6 * k for k in range(12)}
    now = hour(30, [0.0] * 80, [0.001] * 80, downloads)
    after = hour(60, [0.2, 0.3] * 40, [0.002] * 80, {k: rate / 2 for k, rate in downloads.items()})
    answer = Subscribers("AP", 30, "download", 1e8, now, now, 80, 10.0, Mix())
    assert answer.sentence.startswith("AP bears 30 more subscribers: it is full in at most 5 % of the busy hour.")
    answer = replace(answer, after=after)
    assert answer.sentence.startswith("AP does not bear 30 more subscribers: it is full in more than 5 % of the busy ")
    assert answer.undecided == []
    assert "differs from now" not in answer.sentence
    assert answer.now.rate_of_downloads == provider.Estimate(35.5e6, 31e6, 40e6, 12)
    assert "now 35.5 Mbit/s [31 Mbit/s, 40 Mbit/s]" in answer.sentence


def test_samples_go_on_until_they_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight samples, none of them full, ended in "cannot tell; about 72 would tell": by default these are made."""
    calls = Mix(0, 0, 1.0, 0)
    idle = subscribers(*FILES, "AP", 0, mix=calls, duration=1)
    assert (idle.samples, idle.bears) == (72, True)
    assert sorted(idle.now.each["sample"].unique()) == list(range(1, 73))
    same = subscribers(*FILES, "AP", 0, mix=calls, duration=1, samples=72)
    assert idle.json() == same.json(), "going on is no other answer"
    assert subscribers(*FILES, "AP", 0, mix=calls, duration=1, samples=8).samples == 8
    full = subscribers(*FILES, "AP", 10, mix=Mix(0, 0, 0, 1.0), duration=1)
    assert (full.samples, full.bears) == (8, False)
    monkeypatch.setattr(provider, "SUBSCRIBERS", replace(SUBSCRIBERS, packets=1.0))
    assert subscribers(*FILES, "AP", 0, mix=calls, duration=1).samples == 8, "the first are made in any case"
