"""Scenarios read from TOML and built in Python."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock as ac
from conftest import SMALL

RED = {"aqm": "red", "capacity": "100 packets", "min_threshold": "5 packets", "max_threshold": "15 packets"}


def test_builder_equals_toml() -> None:
    built = ac.dumbbell(
        rate="10 Mbit/s",
        delay="5 ms",
        queue=RED,
        flows=[
            ac.flows(3, "reno", name="long", rtt="uniform 30 ms .. 60 ms", start="uniform 0 s .. 1 s"),
            ac.flows(
                4,
                "reno",
                name="short",
                rtt="20 ms",
                start="range 3 s .. 9.999 s",
                traffic={"kind": "transfer", "size": "50 kB"},
            ),
        ],
        duration="10 s",
        measure="2 s .. 10 s",
        seed=7,
        name="small",
    )
    assert built == ac.loads(SMALL)
    assert ac.run(built).json() == ac.run(ac.loads(SMALL)).json()


def test_dumbbell_equals_the_ready_shape() -> None:
    short = """
        [scenario]
        name = "dumbbell"
        duration = "10 s"
        [[link]]
        name = "bottleneck"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { capacity = "50 packets" }
        [[link]]
        name = "bottleneck-reverse"
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = { capacity = "50 packets" }
        [[flows]]
        count = 2
        rtt = "50 ms"
        congestion = "reno"
        path = ["bottleneck"]
        reverse_path = ["bottleneck-reverse"]
        [[flows]]
        rtt = "60 ms"
        congestion = "reno"
        path = ["bottleneck-reverse"]
        reverse_path = ["bottleneck"]
        """
    built = ac.dumbbell(
        rate="10 Mbit/s",
        delay="5 ms",
        queue={"aqm": "drop-tail", "capacity": "50 packets"},
        flows=ac.flows(2, "reno", rtt="50 ms"),
        reverse=ac.flows(1, "reno", rtt="60 ms"),
        duration="10 s",
    )
    assert built == ac.loads(short)


def test_parking_lot() -> None:
    built = ac.parking_lot(
        hops=3,
        rate="5 Mbit/s",
        delay="2 ms",
        queue={"aqm": "drop-tail", "capacity": "30 packets"},
        through=ac.flows(2, "reno", name="through", rtt="40 ms"),
        cross=ac.flows(1, "reno", name="cross", rtt="20 ms"),
        duration="20 s",
        measure="5 s .. 20 s",
    )
    tree = built.canonical
    assert [link["name"] for link in tree["link"]] == ["hop-1", "hop-2", "hop-3"]
    assert [(flow["name"], flow["path"]) for flow in tree["flows"]] == [
        ("through", ["hop-1", "hop-2", "hop-3"]),
        ("cross-hop-1", ["hop-1"]),
        ("cross-hop-2", ["hop-2"]),
        ("cross-hop-3", ["hop-3"]),
    ]
    result = ac.run(built)
    # a flow over three congested links gets less than one over a single link
    classes = result.classes["goodput_bps"]
    assert classes["through"] / 2 < min(classes[f"cross-hop-{hop}"] for hop in (1, 2, 3))


def test_toml_and_json_round_trips(tmp_path: Path) -> None:
    scenario = ac.loads(SMALL)
    assert scenario.to_toml() == SMALL
    assert ac.loads(scenario.to_json(), form="json") == scenario
    assert ac.loads(scenario.to_json(defaults=False), form="json") == scenario
    built = scenario.with_({})
    assert ac.loads(built.to_toml()) == scenario
    built.save(tmp_path / "saved.toml")
    assert ac.load(tmp_path / "saved.toml") == scenario
    (tmp_path / "saved.json").write_text(scenario.to_json(), encoding="utf-8")
    assert ac.load(tmp_path / "saved.json") == scenario


def test_one_parser_reads_a_file() -> None:
    """TOML 1.1's tables over several lines and a byte order mark: the tree as given is what the core has read."""
    text = SMALL.replace("queue = {", "queue = {\n  # the queue\n ").replace('packets" }', 'packets",\n}')
    assert text != SMALL
    scenario = ac.loads(b"\xef\xbb\xbf" + text.encode())
    assert scenario == ac.loads(SMALL)
    assert scenario.tree == ac.loads(SMALL).tree
    assert scenario.with_({"scenario.seed": 5}) == ac.loads(SMALL).with_({"scenario.seed": 5})


@pytest.mark.parametrize("method", ["run", "fluid", "meanfield"])
def test_engines_take_the_parsed_scenario(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = ac.loads(SMALL.split('[[flows]]\nname = "short"')[0])
    monkeypatch.setattr("ackclock._core.Scenario", None)  # nobody parses it again
    getattr(ac, method)(scenario)


def test_copies_of_a_scenario_are_equal() -> None:
    scenario = ac.loads(SMALL)
    for copy in (pickle.loads(pickle.dumps(scenario)), ac.loads(SMALL)):
        assert copy == scenario
        assert copy.tree == scenario.tree
        assert ac.run(copy).json() == ac.run(scenario).json()
    assert scenario != scenario.with_({"scenario.seed": scenario.seed + 1})


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[1].glob("scenarios/*.toml")), ids=lambda path: path.name)
def test_shipped_scenarios_survive_canonical_form(path: Path) -> None:
    scenario = ac.load(path)
    assert ac.loads(scenario.with_({}).to_toml()) == scenario
    assert ac.loads(scenario.to_json(), form="json") == scenario


@pytest.mark.parametrize(
    ("changes", "place", "value"),
    [
        ({"scenario.seed": 3}, ("scenario", "seed"), 3),
        ({"link.bottleneck.rate": "20 Mbit/s"}, ("link", 0, "rate"), "20 Mbit/s"),
        ({"link[0].queue.max_threshold": "20 packets"}, ("link", 0, "queue", "max_threshold"), "20 packets"),
        ({"flows.count": 9}, ("flows", 1, "count"), 9),
        ({"flows.short.count": 9}, ("flows", 1, "count"), 9),
        ({"short.count": 9}, ("flows", 1, "count"), 9),
        ({"seed": 3}, ("scenario", "seed"), 3),
        ({"bottleneck.rate": "20 Mbit/s"}, ("link", 0, "rate"), "20 Mbit/s"),
        ({"queue.max_threshold": "20 packets"}, ("link", 0, "queue", "max_threshold"), "20 packets"),
        ({"long.style": "linux"}, ("flows", 0, "style"), "linux"),
        ({"flows[0].congestion": {"kind": "aimd", "alpha": 2}}, ("flows", 0, "congestion", "alpha"), 2),
    ],
)
def test_with(changes: dict[str, object], place: tuple[str | int, ...], value: object) -> None:
    scenario = ac.loads(SMALL)
    inner = scenario.with_(changes).canonical
    for key in place:
        inner = inner[key]
    assert inner == value
    assert scenario == ac.loads(SMALL)


def test_with_sets_a_key_where_it_is() -> None:
    """A threshold of RED beside a link with PI: `--set` set the one, `with_` refused both."""
    links = [
        {"name": aqm, "rate": "9 Mbit/s", "queue": {"aqm": aqm, "capacity": "90 packets"}} for aqm in ("red", "pi")
    ]
    flows = [{"path": ["red", "pi"], "rtt": "20 ms"}]
    scenario = ac.Scenario({"scenario": {"duration": "2 s"}, "link": links, "flows": flows})
    red, pi = scenario.with_({"queue.max_threshold": "50 packets"}).canonical["link"]
    assert (red["queue"]["max_threshold"], pi["queue"].get("max_threshold")) == ("50 packets", None)
    both = {"queue": {"aqm": "red", "capacity": "80 packets"}, "queue.min_threshold": "9 packets"}
    assert {link["queue"]["min_threshold"] for link in scenario.with_(both).canonical["link"]} == {"9 packets"}


def test_flows_without_a_name_are_set_by_their_number() -> None:
    """ "There is no class of flows f0; available: flows-1", and "flows-1: unknown key"."""
    both = [ac.flows(2, rtt="20 ms"), ac.flows(3, rtt="20 ms")]
    base = ac.dumbbell(rate="10 Mbit/s", queue="drop-tail", flows=both, duration="10 s")
    changed = base.with_({"flows.flows-2.count": 7, "flows-1.rtt": "9 ms"}).canonical["flows"]
    assert [(entry["count"], entry["rtt"]) for entry in changed] == [(2, "9 ms"), (7, "20 ms")]


def test_with_touches_nothing_else() -> None:
    changed = ac.loads(SMALL).with_({"flows.short.count": 9}).canonical
    assert changed["flows"][0] == ac.loads(SMALL).canonical["flows"][0]


@pytest.mark.parametrize(
    "path", ["", "flows[7].count", "link.none.rate", "scenario.seed.deep", "flows[x]", "flows..count"]
)
def test_with_refuses_paths_to_nowhere(path: str) -> None:
    with pytest.raises((KeyError, ac.ScenarioError)):
        ac.loads(SMALL).with_({path: 1})


def test_diagnostics_are_data() -> None:
    with pytest.raises(ac.ScenarioError) as caught:
        ac.loads(SMALL.replace("min_threshold", "min_treshold"), origin="home.toml")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.file, diagnostic.line) == ("home.toml", 11)
    assert diagnostic.column == SMALL.splitlines()[10].index("min_threshold") + 1
    assert diagnostic.key == "link[0].queue.min_treshold"
    assert diagnostic.suggestion == "min_threshold"
    assert str(caught.value) == str(diagnostic)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_mistakes_in_python_are_named_by_key() -> None:
    with pytest.raises(ac.ScenarioError, match=r"lab: flows\[0\]\.rtt: .*5 apples"):
        ac.dumbbell(
            rate="1 Mbit/s",
            queue={"capacity": "9 packets"},
            flows=ac.flows(1, rtt="5 apples"),
            duration="1 s",
            name="lab",
        )
    with pytest.raises(TypeError, match="scenario holds strings"):
        ac.Scenario({"scenario": {"duration": object()}})


def test_import_is_light() -> None:
    """No large library is loaded before it is needed: `import ackclock` stays under 0.3 s."""
    large = "numpy pandas xarray pyarrow matplotlib scipy jinja2 distributed duckdb tornado shtab"
    code = f"import ackclock, ackclock.present.cli, sys; print(sorted(set('{large}'.split()) & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_schema_and_algorithms() -> None:
    schema = ac.schema()
    assert json.loads(json.dumps(schema)) == schema
    algorithms = ac.list_algorithms()
    assert {"reno", "aimd", "compound"} <= {entry["kind"] for entry in algorithms["congestion"]}
    for entry in [*algorithms["congestion"], *algorithms["aqm"]]:
        assert entry["citation"]
        assert isinstance(entry["parameters"], list)
        for parameter in entry["parameters"]:
            assert parameter["doc"]
            assert parameter["source"]
            assert parameter["allowed"]


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml")), ids=lambda path: path.stem
)
def test_a_notebook_shows_links_and_classes(path: Path) -> None:
    scenario = ac.load(path)
    shown = scenario._repr_html_()
    assert shown.count("<tr>") == 2 + len(scenario.canonical["link"]) + len(scenario.canonical["flows"])
    assert "None" not in shown
    assert "{" not in shown


def test_a_notebook_shows_what_is_written_as_it_is() -> None:
    scenario = ac.dumbbell(
        name="<b>", rate="1 Mbit/s", queue={"scheduler": "fq_codel"}, flows=ac.flows(rtt="9 ms"), duration="1 s"
    )
    shown = scenario._repr_html_()
    assert "<b>&lt;b&gt;</b>" in shown
    assert "fq_codel of codel" in shown


def test_name_of_a_control_in_place_of_the_number_of_flows() -> None:
    with pytest.raises(TypeError, match=r'the number of flows comes first, as in flows\(3, "cubic"\)'):
        ac.flows("cubic", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("link.bottleneck.queue.bandwidth", '"link.bottleneck.queue.scheduler.bandwidth"'),
        ("capacity", '"queue.capacity"'),
        ("RTT", '"rtt"'),
        ("fra.rtt", '"far"'),
    ],
)
def test_a_path_that_leads_nowhere_names_the_one_that_is_meant(path: str, meant: str) -> None:
    """ "unknown key; allowed: scheduler, aqm, capacity" for the bandwidth of CAKE."""
    queue = {"scheduler": {"kind": "cake", "bandwidth": "10 Mbit/s"}}
    link = {"name": "bottleneck", "rate": "20 Mbit/s", "queue": queue}
    flows = ac.flows(1, rtt="20 ms", path=["bottleneck"], name="far")
    scenario = ac.Scenario({"scenario": {"duration": "1 s"}, "link": [link], "flows": [flows]})
    with pytest.raises(KeyError, match=f"did you mean {re.escape(meant)}"):
        scenario.with_({path: "5 Mbit/s"})
    if "bandwidth" in meant:
        assert "5 Mbit/s" in str(scenario.with_({meant.strip('"'): "5 Mbit/s"}).tree)
