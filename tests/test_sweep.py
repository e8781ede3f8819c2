"""Sweeps: what is varied, what is kept, and what happens when they are stopped."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock import SweepError
from ackclock.present.cli import main
from ackclock.present.cli.sweep import _usual
from ackclock.present.report.sweep import page
from ackclock.questions.sweep import Store, axis, changed, dropped, plan
from conftest import SMALL, Command

SHORT = SMALL.replace('"10 s"', '"3 s"').replace("2 s .. 10 s", "1 s .. 3 s").replace("3 s .. 9.999 s", "1 s .. 2 s")
SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
GRID = {"rtt": "20 ms..40 ms:2", "queue.aqm": "red,drop-tail"}


@pytest.fixture
def base() -> ac.Scenario:
    return ac.loads(SHORT)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("10 ms..200 ms:3", ("10 ms", "105 ms", "200 ms")),
        ("10ms..200ms:2", ("10 ms", "200 ms")),
        ("1 Mbit/s..100 Mbit/s:3log", ("1 Mbit/s", "10 Mbit/s", "100 Mbit/s")),
        ("10..500:3", (10, 255, 500)),
        ("0.1..0.3:3", (0.1, 0.2, 0.3)),
        ("1.5..2.5", (1.5, 1.75, 2.0, 2.25, 2.5)),
        ("5..15 packets:2", ("5 packets", "15 packets")),
        ("10packets..150packets:4", ("10 packets", "57 packets", "103 packets", "150 packets")),
        ("1packets..2packets:3", ("1 packets", "1.5 packets", "2 packets")),  # a threshold may have half a packet
        ("red, pi,codel", ("red", "pi", "codel")),
        ("true,false", (True, False)),
        (["1 s", "2 s"], ("1 s", "2 s")),
        ("3 ms..3 ms:4", ("3 ms",)),
        ("10 ms..1 s:3", ("10 ms", "505 ms", "1000 ms")),
    ],
)
def test_values(given: Any, values: tuple[Any, ...]) -> None:
    assert (
        axis("key", given).values == pytest.approx(values)
        if given[:3] == "0.1"
        else axis("key", given).values == values
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "no values"),
        ([], "no values"),
        (" , ", "no values"),
        ("10 ms..1 Mbit/s:3", "units of one kind"),
        ("0..10:3log", "above zero"),
        ("1..2:0", "one point or more"),
        ("red..pi:3", "must be numbers"),
    ],
)
def test_values_that_make_no_sense(given: Any, reason: str) -> None:
    with pytest.raises(SweepError, match=reason):
        axis("rtt", given)


def test_an_aqm_or_a_scheduler_by_name_replaces_a_scheduler_with_an_aqm_of_its_own() -> None:
    """`--set aqm=codel --set aqm=fq_codel` on a file with FQ-CoDel at one link: 'there is no AQM "fq_codel"'."""
    home = ac.load(SCENARIOS / "home.toml")  # drop-tail down, FQ-CoDel up
    fair = changed(home, {"aqm": "FQ-CoDel"}).canonical["link"]
    assert [link["queue"]["scheduler"]["kind"] for link in fair] == ["fq_codel", "fq_codel"]
    plain = changed(home, {"aqm": "drop-tail"}).canonical["link"]
    assert [link["queue"].get("scheduler", "none") for link in plain] == ["none", "none"]
    inner = home.with_({"link.up.queue": {"scheduler": "fq_codel", "aqm": "codel"}})
    pie = changed(inner, {"link.up.queue.aqm": "pie"}).canonical["link"][1]["queue"]
    assert (pie["scheduler"]["kind"], pie["aqm"]) == ("fq_codel", "pie")
    turns = changed(home.with_({"link.up.queue": {"scheduler": "drr"}}), {"aqm": "codel"}).canonical["link"][1]["queue"]
    assert (turns["scheduler"]["kind"], turns["aqm"]) == ("drr", "codel")


def test_a_scheduler_keeps_what_its_aqm_knows_and_the_rest_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--set queue.aqm=fq_codel` set the target and the interval of a CoDel back to the defaults, without a word."""
    queue = {"aqm": "codel", "capacity": "300 packets", "target": "20 ms", "interval": "300 ms"}
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "1 ms", "queue": queue}
    flows = [{"name": "f", "path": ["l"], "rtt": "20 ms"}]
    scenario = ac.Scenario({"scenario": {"duration": "1 s"}, "link": [link], "flows": flows})
    fair = changed(scenario, {"queue.aqm": "fq_codel"})
    entry = fair.canonical["link"][0]["queue"]
    assert (entry["aqm"], entry["target"], entry["interval"]) == ("codel", "20 ms", "300 ms")
    assert dropped(scenario, fair) == {}
    for name in ("red", "cake"):
        assert dropped(scenario, changed(scenario, {"queue.aqm": name}))["l"][-2:] == ["target", "interval"]
    pie = changed(scenario, {"queue.aqm": "pie"})  # which updates its probability at intervals of 15 ms
    entry = pie.canonical["link"][0]["queue"]
    assert (entry["target"], dropped(scenario, pie)) == ("20 ms", {"l": ["interval"]})
    cake = {"scheduler": {"kind": "cake", "bandwidth": "9 Mbit/s"}}
    shaped = scenario.with_({"link.l.queue": cake})
    assert dropped(shaped, changed(shaped, {"queue.aqm": "codel"})) == {"l": ["scheduler.bandwidth"]}
    whole = changed(ac.Scenario(scenario.canonical), {"queue.aqm": "fq_codel"}).canonical["link"][0]["queue"]
    assert (whole["target"], whole["interval"]) == ("20 ms", "300 ms"), "also of a file with all defaults"
    single = changed(fair, {"queue.aqm": "codel"}).canonical["link"][0]["queue"]
    assert (single["aqm"], single["target"], single["interval"]) == ("codel", "20 ms", "300 ms")
    (file := tmp_path / "s.json").write_text(json.dumps(scenario.tree), encoding="utf-8")
    assert main(["run", str(file), "--set", "queue.aqm=red", "--set", "queue.aqm=fq_codel", "--set", "rtt=9ms"]) == 0
    assert capsys.readouterr().err == (
        "note: l: target and interval of its queue in the file are left out: with queue.aqm = red there is no such "
        "key, or none of the same meaning\n"
    )
    assert main(["run", str(file), "--set", "queue.aqm=fq_codel"]) == 0
    assert capsys.readouterr().err == ""


def test_names_of_schedulers_are_among_those_that_are_allowed_for_an_aqm(base: ac.Scenario) -> None:
    with pytest.raises(ac.ScenarioError, match=r'did you mean "fq_codel".*"drop-tail".*"cake"'):
        changed(base, {"queue.aqm": "fq_code"})
    with pytest.raises(ac.ScenarioError, match="it is a scheduler, and the queue has one"):
        base.with_({"link.bottleneck.queue": {"scheduler": "drr", "aqm": "cake"}})


def test_another_aqm_keeps_what_it_knows(base: ac.Scenario) -> None:
    tail = changed(base, {"queue.aqm": "drop-tail"}).canonical["link"][0]["queue"]
    assert tail == {"aqm": "drop-tail", "capacity": "100 packets"} | {
        k: v for k, v in tail.items() if k not in ("aqm", "capacity")
    }
    assert "min_threshold" not in tail
    adaptive = changed(base, {"link.bottleneck.queue.aqm": "adaptive-red", "queue.capacity": "50 packets"})
    queue = adaptive.canonical["link"][0]["queue"]
    assert (queue["min_threshold"], queue["capacity"]) == ("5 packets", "50 packets")


def test_grid_keeps_points_and_goes_on(base: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(base, GRID, seeds=2, store=tmp_path / "store", threads=2)
    assert len(done.points) == 8
    assert list(done.table["seed"]) == [7, 8] * 4
    assert list(done.table["rtt"]) == [20.0] * 4 + [40.0] * 4
    solo = ac.run(changed(base, {"rtt": "40 ms", "queue.aqm": "drop-tail"}), seed=8)
    assert done.table["links.bottleneck.loss"].iloc[-1] == solo.links.loc["bottleneck", "loss"]
    (file,) = Store(tmp_path / "store").points.iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[1:]))
    calls: list[Any] = []
    again = ac.sweep(base, GRID, seeds=2, store=tmp_path / "store", progress=calls.append)
    assert again.table.equals(done.table)
    assert (calls[0].done, calls[-1].done, calls[-1].computed) == (7, 8, 1)
    (other,) = set(Store(tmp_path / "store").points.iterdir()) - {file}
    assert other.read_bytes() == lines[0]
    assert file.read_bytes() == b"".join(lines[1:])
    means = done.summary["links.bottleneck.queue_packets_mean"]
    assert list(means.index.names) == ["rtt", "queue.aqm"]
    assert means.iloc[0] == pytest.approx(done.table["links.bottleneck.queue_packets_mean"].iloc[:2].mean())


def test_metric_names(base: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(base, {"count": "1,2"}, store=tmp_path / "store")
    assert done.metric("utilization") == "links.bottleneck.utilization"
    with pytest.raises(SweepError, match=r"could be any of flows\.long\.goodput_bps"):
        done.metric("goodput_bps")
    with pytest.raises(SweepError, match=r"near ones are utilization, "):
        done.metric("utilizations")
    for word, key in {"utilisation": "utilization", "delay": "delay_s_mean", "p99 delay": "delay_s_p99"}.items():
        assert done.metric(word) == f"links.bottleneck.{key}"
    assert done.named("goodput") == [f"flows.{name}.goodput_bps" for name in ("long", "short")]
    with pytest.raises(SweepError, match='"rtt" was not varied; varied were count'):
        done.plot("utilization", "rtt")


def test_plot(base: ac.Scenario, tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    done = ac.sweep(base, GRID, seeds=2, store=tmp_path / "store")
    ax = done.plot("delay_s_mean", "rtt", "queue.aqm")
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x0 > ax.get_window_extent().x1  # it hid the ends of the lines
    assert [line.get_label() for line in ax.lines] == ["red", "drop-tail"]
    assert list(ax.lines[0].get_xdata()) == [20.0, 40.0]
    assert ax.get_xlabel() == "rtt (ms)"
    assert done.plot("delay_s_mean", "queue.aqm").get_xlabel() == "queue.aqm"
    for name in ("links.bottleneck.utilization", "links.bottleneck.loss"):
        ends = done.plot(name, "queue.aqm").collections[0].get_paths()[0].vertices[:, 1]
        assert 0 <= min(ends) <= max(ends) <= 100
    done.table["links.bottleneck.utilization"] = 1.0  # "104 %" stood on the axis
    assert done.plot("utilization", "rtt").get_ylim()[1] < 101
    plt.close("all")


def test_figures_of_one_key_and_of_two(base: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(base, {"rtt": "20 ms..50 ms:4", "count": "1..4:4"}, store=tmp_path / "store")
    lines = done.figure(["utilization", "delay_s_mean"], ["rtt"])
    assert [len(ax.lines) for ax in lines.axes] == [1, 1]
    ticks = done.figure(["utilization"], ["count"]).axes[0].get_xticks()
    assert all(tick % 1 == 0 for tick in ticks)  # "1.25" flows
    heat = done.figure(["utilization"], ["rtt", "count"])
    ax, bar = heat.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rtt (ms)", "count")
    assert bar.get_ylabel() == "utilisation, %"
    # each cell is its point: rows up, columns across
    [image] = ax.collections
    shown = image.get_array()
    assert shown is not None
    point = done.table[(done.table["rtt"] == 30.0) & (done.table["count"] == 4)]
    assert shown.reshape(4, 4)[3, 1] == 100 * point["links.bottleneck.utilization"].item()


def test_small_rates_are_drawn_in_their_own_unit(base: ac.Scenario, tmp_path: Path) -> None:
    """The bar of a call of 64 kbit/s went from 0.06380 to 0.06400 Mbit/s."""
    done = ac.sweep(base, {"link.rate": "200 kbit/s..800 kbit/s:3"}, store=tmp_path / "store")
    name = "flows.long.goodput_bps"
    assert done.label(name) == "long: goodput, kbit/s"
    assert 10 < done.factor(name) * done.table[name].iloc[0] < 200
    assert "long: goodput" in done.shown([name])


def test_a_logarithmic_side_of_a_heat_map_has_plain_numbers(base: ac.Scenario, tmp_path: Path) -> None:
    """A buffer of 54 packets stood somewhere between 10^1 and 10^2."""
    varied = {"rtt": "20 ms..50 ms:4", "queue.capacity": "20 packets..400 packets:4log"}
    done = ac.sweep(base, varied, store=tmp_path / "store")
    up = done.figure(["utilization"], ["rtt", "queue.capacity"]).axes[0].yaxis
    assert up.get_scale() == "log"
    assert up.get_major_formatter()(200.0) == "200"
    # half way to the next on both scales: the cell of 20 packets began at 3
    [image] = done.figure(["utilization"], ["rtt", "queue.capacity"]).axes[0].collections
    (left, low), (right, high) = image.get_coordinates()[0, 0], image.get_coordinates()[1, 1]
    assert (left, right) == pytest.approx((15, 25))
    assert (low, high) == pytest.approx((20 / (54 / 20) ** 0.5, (20 * 54) ** 0.5))
    scattered = ac.sweep(base, {"rtt": "20 ms..50 ms", "count": "1..4"}, latin=5, store=tmp_path / "store")
    assert len(scattered.figure(["utilization"], ["rtt", "count"]).axes[0].collections[0].get_offsets()) == 5
    for wrong in ([], ["rtt", "rtt"], ["rtt", "count", "rtt"], ["rate"]):
        with pytest.raises(SweepError):
            done.figure(["utilization"], wrong)


def test_report_and_plot(ackclock: Command, small: Path) -> None:
    small.write_text(SHORT, encoding="utf-8")
    store, report, plot = (small.parent / name for name in ("store", "out.html", "out.svg"))
    words = ["--vary", "rtt=20ms,30ms", "--vary", "queue.aqm=red,codel", "--seeds", "2", "--store", store]
    done = ackclock("sweep", small, *words, "--against", "queue.aqm", "--report", report, "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert f"written: {report}" in done.stdout
    assert ": 4 points, means over 2 seeds" in done.stdout
    text = report.read_text(encoding="utf-8")
    assert "8 runs at 4 combinations of 2 keys, means over 2 seeds" in text
    assert "Against queue.aqm" in text
    # nothing from elsewhere but the link to the laboratory on this machine
    assert "http" not in re.sub(r"http://(www\.w3\.org|127\.0\.0\.1:)", "", text)
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    wrong = ackclock("sweep", small, *words, "--against", "count")
    assert wrong.returncode == 2
    assert "--against count: must be one or two of the varied keys: rtt, queue.aqm" in wrong.stderr
    sql = 'SELECT count(*) AS "<n>" FROM points'
    queried = ackclock("query", sql, "--store", store, "--report", report)
    assert queried.returncode == 0
    assert "&lt;n&gt;" in report.read_text(encoding="utf-8")


def test_cluster_that_vanishes(base: ac.Scenario, tmp_path: Path) -> None:
    """Its scheduler is killed once a point is there: the message says that what was computed is kept, and it is."""
    distributed = pytest.importorskip("distributed")
    assert distributed
    ready = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert ready.stdout is not None
    address = ready.stdout.readline().strip()

    def end_it(progress: Any) -> None:
        if progress.computed >= 1 and ready.poll() is None:
            os.killpg(ready.pid, signal.SIGKILL)
            ready.communicate()

    with pytest.raises(SweepError, match="has vanished; what was computed is kept, run again to go on"):
        ac.sweep(base, {"rtt": "20 ms..60 ms:60"}, store=tmp_path / "store", cluster=address, progress=end_it)
    kept = Store(tmp_path / "store").query("SELECT * FROM points")
    assert 1 <= len(kept) < 60


SCHEDULER = """
import distributed, time
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR")
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


def test_hypercube(base: ac.Scenario) -> None:
    axes = [axis("rtt", "10 ms..20 ms"), axis("count", "1..10")]
    points = plan(base, axes, latin=10)
    rtts = sorted(float(dict(point.values)["rtt"].split()[0]) for point in points)
    assert [int(rtt - 10) for rtt in rtts] == list(range(10))
    assert [point.key for point in points] == [point.key for point in plan(base, axes, latin=10)]
    with pytest.raises(SweepError, match="takes ranges"):
        plan(base, [axis("queue.aqm", "red,pi")], latin=10)
    sized = plan(base, [axis("queue.capacity", "9..90 packets")], latin=5)
    sizes = [dict(point.values)["queue.capacity"] for point in sized]
    assert len(sizes) == 5
    assert all(re.fullmatch(r"\d+ packets", size) for size in sizes), sizes  # 51.73 packets was no capacity


def test_query(base: ac.Scenario, tmp_path: Path, ackclock: Command) -> None:
    store = tmp_path / "it's a store"
    ac.sweep(base, GRID, store=store)
    sql = 'SELECT "vary.queue.aqm" AS aqm, count(*) AS n, avg("links.bottleneck.loss") AS loss FROM points GROUP BY 1'
    done = ackclock("query", sql, "--store", store, "--json")
    assert done.returncode == 0
    assert {row["aqm"]: row["n"] for row in json.loads(done.stdout)} == {"red": 2, "drop-tail": 2}
    wrong = ackclock("query", "SELECT nothing FROM points", "--store", store)
    assert wrong.returncode == 2
    assert '"nothing"' in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_varied_sizes_sort_as_sizes(base: ac.Scenario, tmp_path: Path) -> None:
    """ "100packets" came before "25packets", which came before "5packets"."""
    sizes = ["100packets", "25packets", "5packets"]
    ac.sweep(base, {"queue.capacity": ",".join(sizes)}, store=tmp_path / "store")
    store = Store(tmp_path / "store")
    ordered = store.query('SELECT "vary.queue.capacity" AS size FROM points ORDER BY 1')
    assert list(ordered["size"]) == sizes[::-1]
    text = store.query(
        """SELECT upper("vary.queue.capacity") || '!' AS x FROM points WHERE "vary.queue.capacity" LIKE '1%'"""
    )
    assert list(text["x"]) == ["100PACKETS!"]
    few = store.query('SELECT count(*) AS n, corr("queue.capacity", seed) AS r FROM points WHERE "queue.capacity" < 30')
    assert list(few["n"]) == [2]
    for wrong in ('SELECT avg("vary.queue.capacity") FROM points', 'FROM points WHERE "vary.queue.capacity" < 30'):
        with pytest.raises(SweepError, match='"KEY" the same as a number in SI units'):
            store.query(wrong)
    for silent in ("< '30packets'", "BETWEEN '10packets' AND '30packets'", ">= '100packets'"):  # by letters, 100 < 30
        with pytest.raises(SweepError, match=r'compare "queue.capacity", the same as a number .*, here [13]0'):
            store.query(f'WITH t AS (FROM points) SELECT seed FROM t WHERE NOT t."vary.queue.capacity" {silent}')
    same = store.query("""SELECT seed FROM points WHERE "vary.queue.capacity" = '25packets'""")
    assert len(same) == 1


KILLED = """
import json, os, signal, sys
import ackclock as ac

text, vary, store = sys.argv[1:]

def watch(progress):
    if progress.computed == 3:
        os.kill(os.getpid(), signal.SIGKILL)

ac.sweep(ac.loads(text), json.loads(vary), store=store, threads=1, progress=watch)
"""


def test_killed_and_resumed(base: ac.Scenario, tmp_path: Path) -> None:
    """Killed with SIGKILL once some points are there, and resumed: the table of a sweep that was left alone."""
    store, vary = tmp_path / "store", {"rtt": "20 ms..60 ms:12", "count": "1..3:3"}
    killed = subprocess.run([sys.executable, "-c", KILLED, SHORT, json.dumps(vary), str(store)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(Store(store).query("SELECT * FROM points")) == 3
    resumed = ac.sweep(base, vary, store=store)
    alone = ac.sweep(base, vary, store=tmp_path / "alone")
    assert resumed.table.equals(alone.table)
    assert len(Store(store).query("SELECT * FROM points")) == 36


def test_cluster_gives_the_same(base: ac.Scenario, tmp_path: Path) -> None:
    local = ac.sweep(base, GRID, store=tmp_path / "local")
    there = ac.sweep(base, GRID, store=tmp_path / "there", cluster="local:2")
    assert there.table.equals(local.table)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "nothing is varied"),
        (["--vary", "rtt"], "must be KEY=VALUES"),
        (["--vary", "rtt="], "no values are given"),
        (["--vary", "rtt=1ms,2ms", "--vary", "rtt=3ms"], "given twice"),
        (["--vary", "rt=1ms,2ms"], "rt"),
        (["--vary", "rtt=1 apple,2 ms"], "apple"),
        (["--vary", "link.other.rate=1 Mbit/s"], "other"),
        (["--vary", "queue.aqm=rde"], 'did you mean "red"'),
        (["--vary", "rtt=20ms", "--metric", "utilizations"], "near ones"),
        (["--vary", "rtt=20ms", "--cluster", "tcp://127.0.0.1:9"], "no Dask scheduler"),
        (["--vary", "rtt=20ms", "--cluster", "local:0"], "one worker or more"),
    ],
)
def test_bad_input(ackclock: Command, small: Path, words: list[str], reason: str) -> None:
    small.write_text(SHORT, encoding="utf-8")
    done = ackclock("sweep", small, *words, "--store", small.parent / "store")
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_stores_of_others_are_left_alone(ackclock: Command, small: Path) -> None:
    store = small.parent / "store"
    store.mkdir()
    (store / "store.json").write_text('{"format": 99}', encoding="utf-8")
    done = ackclock("sweep", small, "--vary", "rtt=20ms", "--store", store)
    assert done.returncode == 2
    assert "later version of ackclock (format 99" in done.stderr
    assert [path.name for path in store.iterdir()] == ["store.json"]
    done = ackclock("sweep", small, "--vary", "rtt=20ms", "--store", small.parent)
    assert done.returncode == 2
    assert "is not empty and holds no store" in done.stderr
    done = ackclock("query", "SELECT 1", "--store", small.parent / "nowhere")
    assert done.returncode == 2


def test_python_algorithms_are_refused(base: ac.Scenario) -> None:
    class Mine:
        def on_ack(self, *_: object) -> None: ...

    with pytest.raises(SweepError, match="written in Python"):
        plan(base.with_({"flows.congestion": Mine}), [axis("rtt", "20 ms,30 ms")])


def test_losses_of_link_and_flows_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both were "loss, %": the table had one of them, and did not say which."""
    from ackclock.cli import main

    file = tmp_path / "small.toml"
    file.write_text(
        '[scenario]\nduration = "2 s"\n[[link]]\nname = "a"\nrate = "5 Mbit/s"\nqueue = { capacity = "20 packets" }\n'
        '[[flows]]\nname = "some"\npath = ["a"]\nrtt = "20 ms"\n'
    )
    words = ["sweep", str(file), "--vary", "rtt=10ms,20ms", "--store", str(tmp_path / "store")]
    assert main(words) == 0
    head = " ".join(capsys.readouterr().out.partition("results:")[0].split())
    assert head.count("loss") == 1  # by default the queue's, and the goodput of flows
    assert "goodput" in head
    assert main([*words, "--metric", "links.a.loss", "--metric", "flows.some.loss"]) == 0
    assert "flows: loss" in capsys.readouterr().out


def test_values_of_a_range_have_four_digits_where_these_tell_them_apart(tmp_path: Path) -> None:
    scenario = ac.loads(SMALL)
    key = "link.bottleneck.rate"
    wide = ac.sweep(scenario, {key: "2mbit..9mbit:4"}, store=tmp_path / "wide")
    assert list(wide.shown(["links.bottleneck.loss"])[key]) == ["2 mbit", "4.333 mbit", "6.667 mbit", "9 mbit"]
    assert "4.33333333 mbit" in list(wide.table[f"vary.{key}"])
    near = ac.sweep(scenario, {key: "2.00001mbit..2.00002mbit:2"}, store=tmp_path / "near")
    assert list(near.shown(["links.bottleneck.loss"])[key]) == ["2.00001 mbit", "2.00002 mbit"]


HELD = """
[scenario]
name = "held"
duration = "4 s"
measure = "2 s .. 4 s"
[[link]]
name = "b"
rate = "20 Mbit/s"
loss = "1 %"
queue = { scheduler = "cake", bandwidth = "4 Mbit/s" }
[[flows]]
name = "a"
count = 4
path = ["b"]
rtt = "20 ms"
"""


def test_a_links_delay_is_seen_before_many_classes(tmp_path: Path) -> None:
    """Six classes of flows left no room for what a varied target changes, the delay of its link."""
    links = [{"name": name, "rate": "5 Mbit/s", "queue": {"aqm": "pie"}} for name in ("x", "a")]
    flows = [{"name": f"c{k}", "path": ["x", "a"], "rtt": "20 ms"} for k in range(6)]
    tree = {"scenario": {"duration": "1 s"}, "link": links, "flows": flows}
    done = ac.sweep(ac.Scenario(tree), {"link.a.queue.target": "5ms,20ms"}, store=tmp_path / "s")
    shown = _usual(done)
    assert len(shown) == 8
    assert [name for name in shown if name.startswith("links.")] == [
        f"links.a.{key}" for key in ("utilization", "loss", "delay_s_mean", "delay_s_p99")
    ]
    assert "flows.all.goodput_bps" in shown


def test_utilisation_behind_a_shaper_and_losses_on_the_wire_are_shown(tmp_path: Path) -> None:
    """The table had 20 % of the line as the utilisation of a full shaper, and a loss of 0 % beside one on the wire."""
    done = ac.sweep(ac.loads(HELD), {"rtt": ["10 ms", "20 ms"]}, store=tmp_path)
    rows = done.shown(_usual(done))
    assert {"queue loss", "lost on the wire"} <= set(rows.columns)
    assert "loss" not in rows.columns
    assert all(float(text.removesuffix(" %")) > 80 for text in rows["utilisation"])
    assert done.table["links.b.utilization"].max() < 0.25  # the store has the engine's own
    heights = done.plot("utilization", "rtt").lines[0].get_ydata()
    assert min(heights) > 80
    [note] = done.notes
    assert note.startswith("link `b`: utilisation is of the rate that its shaper lets through")
    assert "of the line" in note
    plain = ac.sweep(ac.loads(HELD), {"link.b.queue.bandwidth": ["unlimited"], "link.b.loss": ["none"]}, store=tmp_path)
    assert plain.notes == []
    assert "loss" in plain.shown(_usual(plain)).columns


def test_what_a_query_misses_is_an_empty_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was "None" or "nan"."""
    ac.sweep(ac.loads(HELD), {"rtt": ["10 ms"]}, store=tmp_path)
    assert (
        main(["query", 'SELECT "vary.rtt", NULL AS x, "flows.a.fct_s_mean" AS y FROM points', "--store", str(tmp_path)])
        == 0
    )
    assert capsys.readouterr().out.splitlines()[1].split() == ["1", "10", "ms"]


def test_seeds_that_make_no_difference_are_named(tmp_path: Path) -> None:
    """ "Means over 2 seeds" were of one and the same run."""
    equal = ac.dumbbell(rate="2 Mbit/s", queue="drop-tail", flows=ac.flows(2, rtt="20 ms"), duration="2 s")
    drawn = equal.with_({"flows.start": "uniform 0 s .. 1 s"})
    for scenario, seeds, said in ((equal, 2, True), (equal, 1, False), (drawn, 2, False)):
        done = ac.sweep(scenario, {"rtt": ["10 ms", "20 ms"]}, store=tmp_path, seeds=seeds)
        assert any("seeds make no difference" in note for note in done.notes) == said
    varied = ac.sweep(drawn, {"seed": [1, 2]}, store=tmp_path)
    assert "Seeds as varied." in page(varied, drawn, [], ["seed"])  # "Seed 1." over a table with seeds 1 and 2
    assert varied.table["links.bottleneck.loss"].nunique() == 2  # each point ran with the base seed


def test_json_has_varied_values_in_si_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An interval of 100 ms was 100.0 beside delays in seconds."""
    file = tmp_path / "a.toml"
    file.write_text(SHORT, encoding="utf-8")
    words = ["--vary", "rtt=20ms,30ms", "--vary", "queue.aqm=codel", "--vary", "link.bottleneck.rate=9mbit"]
    assert main(["sweep", str(file), *words, "--store", str(tmp_path / "store"), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [(point["vary.rtt"], point["rtt"]) for point in points] == [("20ms", 0.02), ("30ms", 0.03)]
    # what is no number was null
    assert {(point["queue.aqm"], point["link.bottleneck.rate"]) for point in points} == {("codel", 9e6)}


def test_a_report_lists_varied_values_as_its_table_does(tmp_path: Path) -> None:
    """ "53.3333333 ms" stood above a table with 53.33 ms."""
    scenario = ac.loads(SHORT)
    done = ac.sweep(scenario, {"rtt": "20 ms..120 ms:4"}, store=tmp_path)
    text = page(done, scenario, [], ["rtt"])
    assert "rtt: 20 ms, 53.33 ms, 86.67 ms, 120 ms" in text
    assert done.table["vary.rtt"][1] == "53.3333333 ms", "what was run"
