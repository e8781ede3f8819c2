"""Reports: complete, escaped, the same bytes for the same results."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D

import ackclock
from ackclock import plot, report
from ackclock.present.report._charts import charts
from ackclock.present.report._groups import _labels, differences, grouped, settings
from ackclock.present.report._tables import tables
from ackclock.present.report._template import prose, scenario_toml
from ackclock.present.report._words import summary
from ackclock.present.text.results import run_tables
from ackclock.present.text.variants import names_of
from ackclock.questions.sweep.axes import changed
from synthetic_result import result


class Checker(HTMLParser):
    """Collects what a page holds and complains of tags that do not match."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            self.attributes.append(key)
            if key == "id":
                self.ids.append(value or "")
            if key in {"src", "href", "xlink:href"}:
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "text", "tspan"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_report_needs_nothing_from_elsewhere() -> None:
    checker = Checker(report.page([result(), result("steady", swing=5.0, seed=2)], "Title"))
    assert all(link.startswith("#") for link in checker.links)
    assert {link[1:] for link in checker.links} <= set(checker.ids)
    assert len(checker.ids) == len(set(checker.ids))
    assert checker.tags.count("script") == 3  # for the keyboard, uPlot, and what calls it
    assert "src" not in checker.attributes


def test_what_scrolls_takes_the_keyboards_focus() -> None:
    """Tables that are wider than a narrow page could be read with a mouse only."""
    page = report.page(result(), "Title")
    scrolls = re.findall(r"([^{}\n]+) { [^{}]*overflow-[xy]: auto", page)
    (watched,) = re.findall(r'querySelectorAll\("([^"]+)"\)\.forEach\(\(e\) => scrolls', page)
    assert {name.strip() for name in scrolls} == set(watched.split(", "))


@pytest.mark.parametrize("name", ["stability.html", "meanfield.html"])
def test_tables_wrap_on_paper(name: str) -> None:
    """A printed report of stability ended before the column that says why."""
    own, base = (files("ackclock.present.report").joinpath(one).read_text("utf-8") for one in (name, "base.html"))
    assert "white-space: nowrap" in own
    (rules,) = re.findall(r"@media print {\n  @page.*?\n}", base, re.DOTALL)
    assert ".wide th, .wide td:not(.number) { white-space: normal !important; }" in rules


def test_verdicts_wrap_and_numbers_do_not() -> None:
    """
    "in 1 of 2 runs, not decided in 1 of 2: 0.81 ± 0.39, limit 0.5" did not wrap: of four variants with two seeds the
    last one's verdicts were out of sight.
    """
    page = report.page([result(swing=swing, seed=seed) for seed, swing in ((1, 70.0), (2, 5.0))], "Title")
    style = page[page.index("<style>") : page.index("</style>")]
    unwrapped = re.findall(r"([^{}\n]+) { [^{}]*white-space: nowrap", style)
    assert [name.strip() for name in unwrapped] == [".number, .option"]
    cells = re.findall(r"<td([^>]*)>([^<]*)</td>", page)
    sentences = [(kind, text) for kind, text in cells if ": " in text]
    assert any(text.startswith("in 1 of 2 runs") for _, text in sentences)
    for kind, text in cells:
        assert (kind == "") == (": " in text or not any(map(str.isdigit, text))), text
        assert "\u00a0" not in text  # neither do four columns of verdicts fit a sheet then
    # of numbers in several columns, which do not fit a sheet, the last were cut on paper
    assert "@media (max-width: 60rem) { .numbers:not(.single) tbody td { white-space: normal; } }" in style
    assert any(" ± " in text for kind, text in cells if kind)


class Charts(HTMLParser):
    """Collects the data of the charts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[dict[str, Any]]] = {}
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if text := values.get("data-charts"):
            self.found[str(values["aria-label"])] = json.loads(text)


CHART = """
const line = { name: "", x: [0, 600], y: [0, 1], dash: [], width: 1 };
const axes = { x: { label: "window", span: [0, 25] }, y: { label: "density", span: [0, 1] } };
const chart = { ...axes, series: [line], upright: [], bars: [], shades: [] };
const place = () => ({ append() {}, clientWidth: 500, classList: { add() {} } });
const figure = { ...place(), dataset: { charts: JSON.stringify([chart]) }, closest: place };
globalThis.document = { querySelectorAll: () => [figure], createElement: place };
globalThis.ResizeObserver = class { observe() {} };
const ranges = [];
globalThis.uPlot = class {
  static paths = { linear() {} };
  static join = () => [];
  constructor(options) {
    this.select = { left: 100, width: 50 };
    this.options = options;
    queueMicrotask(() => this.setScale("x", { min: 0, max: 600 })); // as uPlot does: when all charts have been made
    globalThis.made = this;
  }
  setScale(_, { min, max }) { ranges.push(this.options.scales.x.range(this, min, max)); }
  setSelect() {}
  posToVal(at) { return at / 10; }
};
setTimeout(() => {
  made.options.hooks.setSelect[0](made);
  made.options.cursor.bind.dblclick()();
  console.log(JSON.stringify(ranges));
}, 0);
"""
"""A page with one chart, and as much of uPlot as its axis needs."""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_a_chart_shows_what_its_figure_shows(tmp_path: Path) -> None:
    """The density of a mean field stood in 3 % of its chart: the axis was that of all data, not of the figure."""
    page = report.page(result(), "Title")
    (script,) = re.findall(r"<script>(// Charts of the report.*?)</script>", page, re.DOTALL)
    file = tmp_path / "chart.js"
    file.write_text(CHART + script, encoding="utf-8")
    done = subprocess.run(["node", str(file)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[0, 25], [10, 15], [0, 25]]  # at first, zoomed in, back


def test_charts_hold_what_the_figures_draw() -> None:
    run = result()
    charts = Charts(report.page(run, "Title")).found
    (queue,) = next(value for key, value in charts.items() if key.startswith("Queue: "))
    line = next(line for line in queue["series"] if line["name"] == "queue")
    waiting = run.traces["link_queue_packets"].sel(link="bottleneck")
    assert [line["x"][0], line["x"][-1]] == [float(waiting["time"][0]), float(waiting["time"][-1])]
    assert max(line["y"]) == pytest.approx(float(waiting.max()), rel=1e-5)
    assert queue["shades"][0][1] == run.window[0]
    (use,) = next(value for key, value in charts.items() if key.startswith("Utilisation: "))
    stairs = next(line for line in use["series"] if line.get("steps"))
    assert stairs["y"][:-1] == pytest.approx([100 * value for value in run.utilization_1s["bottleneck"]], rel=1e-5)
    assert queue["x"]["label"].startswith("time (s)")  # the words before the comma make them one group
    assert use["x"]["label"] == "time (s)"
    assert [key.partition(":")[0] for key, (chart,) in charts.items() if chart["x"]["whole"]] == ["Goodput"]
    assert [line["name"] for line in named(charts, "Goodput")][:3] == [
        "Compound & friends",
        "mean of the endless",
        "starved: below 10 %",
    ]
    assert [line["name"][:3] for line in named(charts, "Queueing delay")] == ["", "p50", "p95", "p99"]


def named(charts: dict[str, list[dict[str, Any]]], title: str) -> list[dict[str, Any]]:
    """The series of the chart that a figure became."""
    ((chart,),) = [value for key, value in charts.items() if key.startswith(f"{title}: ")]
    return list(chart["series"])


def test_figures_that_are_more_than_lines_stay_pictures() -> None:
    figure = plt.figure()
    figure.subplots().imshow([[1, 2], [3, 4]])
    assert str(charts(figure, "map")) == ""
    figure = plt.figure()
    figure.subplots().plot([0, 1, 0.5], [0, 1, 2])  # goes back
    assert str(charts(figure, "portrait")) == ""
    plt.close("all")


def test_an_upright_line_of_a_chart_keeps_its_ends() -> None:
    """The margins of a loop were one point, that is nothing: only one value stays at a place."""
    figure = plt.figure()
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 2, 3])
    axes.plot([2, 2], [0.5, 1.5])
    ((chart,),) = Charts(str(charts(figure, "margin"))).found.values()
    assert [(line["at"], line["y"]) for line in chart["upright"]] == [(2, [0.5, 1.5])]
    # of a diagram whose legend explained its marks, the chart named one line
    axes.legend(handles=[Line2D([], [], label="from empty queues")])
    assert charts(figure, "margin") == ""
    plt.close("all")


def test_numbers_stay_with_their_units() -> None:
    """A line of the summary ended in "99 % at most 19.9", and the next began with "ms"."""
    page = report.page(result(), "Title")
    summary, meanings = (page[page.index(f'id="{part}"') :] for part in ("summary", "what-the-words-mean"))
    for text in (summary[: summary.index("</ul>")], meanings[: meanings.index("</dl>")]):
        assert "\u00a0%" in text
        assert not re.search(r"\d (?:%|ms|s)\b", text.replace("% ", "%"))
    assert str(prose("50.1 M packets, 6 dB")) == "50.1\u00a0M packets, 6\u00a0dB"
    # "--until-" at the end of a line
    assert str(prose("needs about 300 s (--until-sure)")).endswith(
        '300\u00a0s (<span class="option">--until-sure</span>)'
    )


def test_library_is_that_of_the_page() -> None:
    root = Path(__file__).parents[1]
    lock = json.loads((root / "page" / "package-lock.json").read_text(encoding="utf-8"))
    version = lock["packages"]["node_modules/uplot"]["version"]
    kept = root / "python" / "ackclock" / "present" / "report" / "uplot"
    assert f"uPlot (v{version})" in (kept / "uPlot.iife.min.js").read_text(encoding="utf-8")
    assert "MIT" in (kept / "LICENSE").read_text(encoding="utf-8")


def test_the_summary_comes_first_and_says_what_the_queue_does() -> None:
    text = Checker(report.page(result(), "Title")).text
    assert text.index("Summary") < text.index("Numbers") < text.index("Figures") < text.index("Scenario")
    assert re.search(
        r"Link bottleneck: the queue oscillates with a period of 3\.(09|1|11) s and an amplitude of (6[6-9]|7)", text
    )
    assert "The windows are synchronised" in text
    assert "underused" not in text.partition("Numbers")[0]  # beside "Nothing is wrong", which looks at the whole time
    assert "none is starved" in text


def test_a_period_that_the_summary_states_stands_in_the_table() -> None:
    """ "The queue has a period of 1.07 s" above "oscillation, period none"."""
    queue = {"aqm": "red", "capacity": "500 packets", "min_threshold": "30 packets", "max_threshold": "90 packets"}
    link = {"name": "bottleneck", "rate": "50 Mbit/s", "delay": "10 ms", "queue": queue}
    flows = {"name": "cubic", "count": 10, "path": ["bottleneck"], "congestion": "cubic"}
    head = {"name": "First", "duration": "60 s", "measure": "20 s .. 60 s", "sample": "10 ms"}
    tree = {"scenario": head, "link": [link], "flows": [flows | {"rtt": "uniform 40 ms .. 60 ms"}]}
    run = ackclock.run(ackclock.Scenario(tree), trace_links=True)
    text = Checker(report.page(run, "Title")).text
    said = re.search(r"The queue has a period of ([0-9.]+) s, but its amplitude is only", text)
    assert said
    assert re.search(rf"queue, period\s+{said[1]} s", text)
    assert not re.search(r"queue, amplitude\s+none", text)


def test_a_steady_queue_is_called_stable_and_a_starved_flow_starved() -> None:
    text = Checker(report.page(result(swing=5.0, synchronised=False, starved=True), "Title")).text
    assert "Link bottleneck: the queue is stable" in text
    assert "The windows are not synchronised" in text
    assert "1 of them is starved" in text


def test_several_results_stand_side_by_side_on_one_scale() -> None:
    page = report.page([result("RTT 10 ms", swing=5.0), result("RTT 200 ms")], "Both")
    checker = Checker(page)
    kinds = ("Queue", "Queue, close-up", "Congestion windows", "Utilisation", "Queueing delay", "Goodput")
    assert checker.tags.count("svg") == 2 * len(kinds) + 1  # and all over one another
    assert (
        "Where the scenarios differ 1 setting differs setting RTT 10 ms RTT 200 ms scenario.name RTT 10 ms"
        in checker.text
    )
    # The steady queue stays below 100 packets, but has the scale of the other: its ticks too reach
    # 150.
    first, second = (page.index(f'aria-label="Queue: RTT {rtt} ms"') for rtt in (10, 200))
    steady = page[first:second]
    assert ">150</text>" in steady


def test_replications_become_a_mean_with_its_interval() -> None:
    text = Checker(report.page([result(seed=seed) for seed in (1, 2, 3, 7)], "Replicated")).text
    assert "oscillates in all 4 runs" in text
    assert "seeds 1 to 3, 7" in text
    assert re.search(r"queue, mean \(packets\) 7\d\.\d+ ± \d\.\d+", text)


def test_user_text_is_escaped_everywhere() -> None:
    bad = '<script>alert("1")</script>&$x$'
    page = report.page(
        [result(f"{bad}{k}", flow_class=bad, notes=[bad], swing=swing) for k, swing in ((1, 5.0), (2, 70.0))], bad
    )
    assert page.count("<script") == 3
    assert "<script>alert" not in page
    checker = Checker(page)
    assert bad in checker.text
    assert not any(attribute.startswith("on") for attribute in checker.attributes)


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        report.write(tmp_path / name, [result(), result("steady", swing=5.0)], "Title")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="at least one result"):
        report.write(path, [], "Title")
    assert path.read_text() == "old"


def test_without_traces_the_report_says_what_it_cannot_know() -> None:
    text = Checker(report.page(result(traced=False), "Title")).text
    assert "Whether it oscillates is not known: it was not traced" in text
    assert "The windows are" not in text
    assert "oscillating queue" not in text
    assert "Queueing delay" in text


def test_the_whole_scenario_is_printed_with_version_and_seed() -> None:
    run = result(seed=5)
    text = Checker(report.page(run, "Title")).text
    assert "ackclock 0.1.0" in text
    assert "seed 5" in text
    for value in ("2084 packets", "max_probability", "reverse_path", '"gamma": 30'):
        assert value in text


def test_a_report_names_the_command_that_makes_it() -> None:
    with report.made_by("ackclock run 'a <b>.toml'"):
        page = report.page(result(), "Title")
    assert "Made by ackclock run 'a <b>.toml'" in Checker(page).text
    assert "Made by" not in Checker(report.page(result(), "Title")).text


def test_equal_notes_of_several_runs_are_one() -> None:
    runs = [
        result(f"run {k}", swing=5.0 + k, notes=["the same everywhere", *(["only here"] if k == 2 else [])])
        for k in range(4)
    ]
    text = Checker(report.page(runs, "Title")).text
    assert text.count("the same everywhere") == 1
    assert "Notes: run 2 only here" in text


def test_a_long_rate_trace_is_cut() -> None:
    long = json.dumps({"steps": list(range(10_000))})  # no scenario: shown as it is, but not at any length
    shown = scenario_toml(long)
    assert len(shown) < 2500
    assert "characters more" in shown


def test_the_queues_axis_follows_from_what_was_measured() -> None:
    run = result(swing=5.0)
    waiting = run.traces["link_queue_packets"].to_numpy()
    measured = run.traces["time"].to_numpy() >= run.window[0]
    assert not measured.all()
    waiting[0, ~measured] = 100 * waiting[0, measured].max()
    ax = plot.queue(run)
    assert ax.get_ylim()[1] < 10 * waiting[0, measured].max()
    assert any("before: up to" in text.get_text() for text in ax.texts)
    plt.close(ax.figure)


def test_a_single_flow_is_described_as_a_sawtooth() -> None:
    text = Checker(report.page(result(flows=1), "Title")).text
    assert "The window is a sawtooth: period 3.1" in text
    assert "The flow gets" in text


def test_groups_are_named_by_what_differs_where_names_do_not() -> None:
    runs = [result("same", flow_class=name, seed=seed) for name in ("a", "b") for seed in (1, 2)]
    groups = grouped(runs)
    assert [len(group.results) for group in groups] == [2, 2]
    assert len({group.label for group in groups}) == 2
    tree = '{"scenario": {"name": "x"}, "flows": [{"name": "f", "rtt": "%s"}]}'
    kinds = [json.dumps({"scenario": {}, "flows": [{"congestion": {"kind": kind}}]}) for kind in ("reno", "cubic")]
    assert _labels(["x", "x"], differences(kinds)) == ["congestion reno", "congestion cubic"]  # "kind reno"
    assert differences([tree % "10 ms", tree % "200 ms"]) == {"flows.f.rtt": ["10 ms", "200 ms"]}
    classes = {"flows.a.rtt": ["10 ms", "200 ms"], "flows.b.rtt": ["10 ms", "200 ms"]}
    assert _labels(["x", "x"], classes) == ["rtt 10 ms", "rtt 200 ms"]  # "rtt 10 ms, rtt 10 ms"


def test_groups_are_named_by_what_differs_beside_an_aqm() -> None:
    """
    Every variant of an AQM and a count was "Home, 50 Mbit/s down and 10 Mbit/s up (1)" and so on, as an AQM brings
    parameters of its own; variants of a duration were "(1)" and "(2)", too.
    """
    home = ackclock.load(Path(__file__).parents[1] / "scenarios/home.toml")
    for keys in (
        {"aqm": ["red", "codel"], "flows.downloads.count": [4, 16]},
        {"aqm": ["pie", "codel"], "flows.rtt": ["10 ms", "40 ms"]},  # both have a target
        {"scenario.duration": ["50 s", "60 s"], "flows.downloads.count": [4, 16], "link.up.rate": ["5 Mbit/s"]},
        {"scenario.duration": ["50 s", "60 s"]},
    ):
        sets = [dict(zip(keys, values, strict=True)) for values in product(*keys.values())]
        texts = [changed(home, one).to_json() for one in sets]
        labels = _labels([home.name] * len(texts), differences(texts))
        names = names_of([{"file": "home.toml", "set": one} for one in sets])
        if len(keys) == 1:
            names = [f"duration {name}" for name in names]
        assert [set(label.split(", ")) for label in labels] == [
            set(name.replace("=", " ").split(", ")) for name in names
        ]
    policed = {"link.l.policer.rate": ["", "2 Mbit/s"], "link.l.policer.burst": ["", "10 kB"]}
    assert _labels(["x", "x"], policed) == ["rate none, burst none", "rate 2 Mbit/s, burst 10 kB"]  # "rate , burst "
    both = {"scenario.name": ["x", "x", "y", "y"], "flows.f.count": ["1", "2", "1", "2"]}
    both |= {f"link.l.{k}": ["1", "1", "2", "2"] for k in "abc"}
    assert _labels(both["scenario.name"], both) == ["x, count 1", "x, count 2", "y, count 1", "y, count 2"]


def test_settings_are_listed_by_path() -> None:
    tree = {"link": [{"name": "l", "queue": {"aqm": "red", "gentle": True}}], "flows": [{"path": ["l", "m"]}]}
    assert dict(settings(tree)) == {
        "link.l.queue.aqm": "red",
        "link.l.queue.gentle": "true",
        "flows.1.path": "l, m",
    }


def test_names_between_backticks_are_code_and_nothing_else_is_markup() -> None:
    assert prose("flows `a<b`: <i>") == "flows <code>a&lt;b</code>: &lt;i&gt;"
    # "99 % wait at most 16.9 ms ± 1.4" ended a line, and "ms" began the next one
    assert prose("99 % of `--rtt 9 ms`: 1.4 ms") == "99\u00a0% of <code>--rtt 9 ms</code>: 1.4\u00a0ms"


def test_variants_with_and_without_a_scheduler_are_named_by_it() -> None:
    """The columns of drop-tail and FQ-CoDel were "scheduler none" and "scheduler"."""
    flows = ackclock.flows(1, rtt="20 ms")
    runs = [
        ackclock.run(ackclock.dumbbell(rate="5 Mbit/s", queue=queue, flows=flows, duration="2 s"))
        for queue in ("drop-tail", "fq_codel")
    ]
    assert [group.label for group in grouped(runs)] == ["scheduler none", "scheduler fq_codel"]


def test_losses_beside_the_queue_are_said() -> None:
    """ "Of the arriving packets none is dropped" where a policer dropped a third, and 2 % were lost on the wire."""
    flows = ackclock.flows(2, rtt="20 ms")
    plain = ackclock.dumbbell(rate="5 Mbit/s", queue="drop-tail", flows=flows, duration="3 s")
    held = plain.with_({"link.bottleneck.policer": {"rate": "2 Mbit/s", "burst": "10 kB"}})
    for scenario, texts in (
        (plain.with_({"link.bottleneck.loss": "2 %"}), ("Of the arriving packets", "% are lost on the wire.")),
        (held, ("The policer drops", "of the arriving packets. Of the others none is dropped.")),
        (plain, ("Of the arriving packets",)),
    ):
        run = ackclock.run(scenario, trace_links=True)
        [group] = grouped([run])
        said = " ".join(summary(group))
        assert all(text in said for text in texts), said
        row = run.json()["links"]["bottleneck"]
        assert ("on the wire" in said) == (row["loss_wire"] > 0)
        assert ("policer" in said) == (row["loss_policer"] > 0)
        rows = {name for section in tables([group]) for name, _ in section.rows}
        assert ("packets lost on the wire" in rows) == (row["loss_wire"] > 0)
        assert ("packets dropped by the policer" in rows) == (row["loss_policer"] > 0)
        assert "packets dropped at the queue" in rows
        # "1,031 Mbit/s" and "0.576 %" of a run of which the terminal says "1.03 Gbit/s" and "0.58 %"
        written = {value for section in tables([group]) for _, values in section.rows for value in values}
        assert {str(cell) for table in run_tables(run) for cell in table.to_numpy().ravel()} - {"0 %"} <= written


def test_verdicts_on_different_links_name_them() -> None:
    """Where variants differ in a rate, "the slowest link" was another one in each, and not named."""
    flows = ackclock.flows(1, rtt="40 ms")
    two = ackclock.parking_lot(hops=2, rate="10 Mbit/s", delay="5 ms", through=flows, cross=flows, duration="6 s")
    groups = grouped(
        [ackclock.run(two.with_({f"link.hop-{hop}.rate": "2 Mbit/s"}), trace_links=True) for hop in (1, 2)]
    )
    first = tables(groups)[0]
    assert first.heading == "Verdicts, where packets wait longest"
    waits = [str(group.first.links["delay_mean"].astype(float).idxmax()) for group in groups]
    assert sorted(waits) == ["hop-1", "hop-2"]
    assert first.rows[0] == ("link", waits)
    alone = tables(groups[:1])[0]
    assert alone.heading == f"Verdicts, link {waits[0]}"
    assert "link" not in dict(alone.rows)
