"""Stores of sweeps that others have used, damaged or left half written, and what a query may do with them."""

import hashlib
import json
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ackclock as ac
from ackclock import SweepError
from ackclock.questions.sweep import Store, SweepInterrupted, axis, metric_names, plan
from ackclock.questions.sweep.store import FORMAT
from conftest import interrupted, processor_time

TINY = """
[scenario]
name = "tiny"
duration = "1 s"
seed = 3
[[link]]
name = "bottleneck"
rate = "2 Mbit/s"
queue = { aqm = "drop-tail", capacity = "20 packets" }
[[flows]]
count = 2
path = ["bottleneck"]
congestion = "reno"
rtt = "20 ms"
"""


@pytest.fixture
def tiny() -> ac.Scenario:
    return ac.loads(TINY)


def points(store: Path) -> set[str]:
    """The keys of all points."""
    lines = [line for file in (store / "points").glob("*.jsonl") for line in file.read_text("utf-8").splitlines()]
    return {json.loads(line)["key"] for line in lines}


def test_two_sweeps_in_one_store(tiny: ac.Scenario, tmp_path: Path) -> None:
    """The second finds a point of the first, by keys that the first did not vary."""
    ac.sweep(tiny, {"rtt": "20 ms,30 ms"}, store=tmp_path)
    second = ac.sweep(tiny, {"flows.count": "2,3"}, store=tmp_path)
    assert list(second.table["flows.count"]) == [2.0, 3.0]
    assert list(second.table["vary.flows.count"]) == ["2", "3"]
    assert list(second.summary.index) == ["2", "3"]
    third = ac.sweep(tiny, {"flows.rtt": "20 ms,40 ms"}, store=tmp_path)
    assert list(third.table["flows.rtt"]) == [20.0, 40.0]
    assert len(points(tmp_path)) == 4
    # the same value in another unit: the same run, and the row as this sweep writes it
    fourth = ac.sweep(tiny, {"rtt": "0.02 s,0.05 s"}, store=tmp_path)
    assert list(fourth.table["vary.rtt"]) == ["0.02 s", "0.05 s"]
    # a query finds each point by the keys of every sweep that used it, in SI units
    queried = Store(tmp_path).query('SELECT rtt, "flows.count" AS n, "flows.rtt" AS own FROM points ORDER BY ALL')
    assert (0.02, 2.0, 0.02) in set(queried.itertuples(index=False, name=None))
    assert sorted(queried["rtt"].dropna()) == [0.02, 0.03, 0.05]
    # and other programs by a table
    whole = Store(tmp_path).query("SELECT * FROM points ORDER BY key, seed")
    table = pd.read_parquet(tmp_path / "points.parquet").sort_values(["key", "seed"], ignore_index=True)
    sizes = whole.select_dtypes("category").columns  # sizes sort as such in a query, in the table they are text
    assert set(sizes) == {"vary.rtt", "vary.flows.count", "vary.flows.rtt"}
    whole = whole.astype(dict.fromkeys(sizes, "str"))
    pd.testing.assert_frame_equal(table, whole, check_dtype=False)


def test_units_are_kept(tiny: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(tiny, {"rtt": "10ms,1s,0.05s"}, store=tmp_path)
    assert list(done.table["rtt"]) == [10.0, 1000.0, 50.0]
    assert list(done.table["vary.rtt"]) == ["10ms", "1s", "0.05s"]
    assert done.axes[0].unit == "ms"


def damage(kind: str, file: Path, rng: random.Random) -> int:
    """Damage lines of a store; return how many of them are no longer there, or no longer whole."""
    lines = file.read_bytes().splitlines(keepends=True)
    place = rng.randrange(len(lines) - 1)
    if kind == "empty":
        file.write_bytes(b"")
        return len(lines)
    if kind == "truncated":
        lines[-1] = lines[-1][: rng.randrange(1, len(lines[-1]))]
    elif kind == "foreign":
        lines[place] = b"key,seed\n"
    elif kind == "digest":
        begin = lines[place].index(b'", "key"')
        lines[place] = lines[place][: begin - 64] + hashlib.sha256(b"else").hexdigest().encode() + lines[place][begin:]
    elif kind == "joined":
        lines[place] = lines[place][:-1]
    else:
        at = rng.randrange(len(lines[place]) - 1)
        line = bytearray(lines[place])
        line[at] ^= 1 << rng.randrange(8)
        lines[place] = bytes(line)
    file.write_bytes(b"".join(lines))
    return 2 if kind == "joined" else 1


@pytest.mark.parametrize("kind", ["empty", "truncated", "foreign", "digest", "joined", *["flipped"] * 5])
def test_damaged_points_are_computed_again(tiny: ac.Scenario, tmp_path: Path, kind: str) -> None:
    vary, calls = {"rtt": "20 ms..80 ms:8"}, list[Any]()
    alone = ac.sweep(tiny, vary, store=tmp_path)
    assert alone.notes == []
    (file,) = (tmp_path / "points").glob("*.jsonl")
    lost = damage(kind, file, random.Random(kind))
    again = ac.sweep(tiny, vary, store=tmp_path, progress=calls.append)
    assert again.table.equals(alone.table)
    assert calls[-1].computed == lost
    # what an empty file held nobody knows; a newline within a line makes two of it
    assert all(re.fullmatch(rf"{file.name}: [12] damaged lines? removed; .*", note) for note in again.notes)
    assert len(again.notes) == (kind != "empty")
    assert len(points(tmp_path)) == 8
    third = ac.sweep(tiny, vary, store=tmp_path, progress=calls.append)
    assert third.notes == []
    assert calls[-1].computed == 0


def test_a_query_answers_from_whole_files_only(tiny: ac.Scenario, tmp_path: Path) -> None:
    """Of 133 flipped bits 6 changed the table unnoticed, and a folder in place of a file was left out of it."""
    ac.sweep(tiny, {"rtt": "20 ms..40 ms:3"}, store=tmp_path)
    sql = "SELECT * FROM points ORDER BY ALL"
    assert len(Store(tmp_path).query(sql)) == 3
    with pytest.raises(SweepError, match="there is no table runs; the only one is points"):
        Store(tmp_path).query("SELECT * FROM runs")  # 'Did you mean "duckdb_constraints"?'
    # DuckDB offered "flows.cubic.started", "flows.cubic.starved", ...
    with pytest.raises(SweepError, match=r'no column "goodput"\navailable: .*flows\.\w+\.goodput_bps'):
        Store(tmp_path).query("SELECT goodput FROM points")
    with pytest.raises(SweepError, match=r'no column "vary.rt"; did you mean "vary.rtt"'):
        Store(tmp_path).query('SELECT "vary.rt" FROM points')
    (file,) = (tmp_path / "points").glob("*.jsonl")
    whole, rng = file.read_bytes(), random.Random(5)
    for _ in range(200):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(data))
        with pytest.raises(SweepError, match=f"{file.name}: holds other values than were written.*\n.*computes them"):
            Store(tmp_path).query(sql)
    file.unlink()
    file.mkdir()
    with pytest.raises(SweepError, match=f"{file.name}: is no file"):
        Store(tmp_path).query(sql)
    with pytest.raises(SweepError, match=f"{file.name}: is no file"):
        ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)


def test_a_store_of_another_version_is_left_alone(tiny: ac.Scenario, tmp_path: Path) -> None:
    for number, which in ((FORMAT - 1, "an earlier"), (FORMAT + 1, "a later")):
        (tmp_path / "store.json").write_text(f'{{"format": {number}}}', encoding="utf-8")
        with pytest.raises(SweepError, match=f"was written by {which} version"):
            ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["store.json"]


APPENDS = """
import sys, time
import ackclock as ac
from ackclock.questions.sweep import Store, plan, axis

store = Store(sys.argv[1])
for point in plan(ac.loads(sys.argv[2]), [axis("rtt", "20 ms,30 ms")]):
    store.write(point, {"links.bottleneck.loss": 0.0})
store._own.write(b'{"digest": "')
print(store._own.name, flush=True)
time.sleep(3600)
"""


def test_lines_that_another_process_writes_are_left_alone(tiny: ac.Scenario, tmp_path: Path) -> None:
    """A query and a sweep beside it take its whole lines; once it is killed, the next sweep removes the half one."""
    command = [sys.executable, "-c", APPENDS, str(tmp_path), TINY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        file = Path(process.stdout.readline().strip())
        assert len(Store(tmp_path).query("SELECT * FROM points")) == 2
        assert ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path).notes == []
        assert not file.read_bytes().endswith(b"\n")
        process.kill()
        process.communicate()
    with pytest.raises(SweepError, match="the sweep, run again"):
        Store(tmp_path).query("SELECT * FROM points")
    assert ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path).notes != []
    assert len(Store(tmp_path).query("SELECT * FROM points")) == 2


def test_a_full_disk_leaves_whole_lines(tiny: ac.Scenario, tmp_path: Path) -> None:
    first, second = plan(tiny, [axis("rtt", "20 ms,30 ms")])
    store = Store(tmp_path)
    store.write(first, {"links.bottleneck.loss": 0.25})
    assert store._own is not None
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (store._own.tell() + 40, limits[1]))
        with pytest.raises(OSError, match="No space left"):
            store.write(second, {"links.bottleneck.loss": 0.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert Store(tmp_path).take(first) == {"links.bottleneck.loss": 0.25}
    store.write(second, {"links.bottleneck.loss": 0.5})
    assert Store(tmp_path).take(second) == {"links.bottleneck.loss": 0.5}
    store.close()
    assert store.repair() == []


def test_sweeps_that_begin_at_once_share_a_new_store(
    tiny: ac.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, one was refused: the folder held the points of another, which had not yet made its mark."""
    from ackclock.questions.sweep import store as module

    folder, whole_file = tmp_path / "store", module.whole_file

    def slowly(path: Path) -> Any:
        if path.name == "store.json" and not path.exists():
            monkeypatch.setattr(module, "whole_file", whole_file)
            with whole_file(path):  # the other sweep finds this one here
                Store(folder)
        return whole_file(path)

    monkeypatch.setattr(module, "whole_file", slowly)
    assert len(ac.sweep(tiny, {"rtt": "20 ms"}, store=folder).table) == 1
    (folder / "store.json").unlink()
    (folder / "else").touch()
    with pytest.raises(SweepError, match="holds no store of sweeps"):
        Store(folder)


WRITES = """
import sys, time
from pathlib import Path
from ackclock.core.files import whole_file

with whole_file(Path(sys.argv[1])) as beside:
    print(beside, flush=True)
    time.sleep(3600)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tiny: ac.Scenario, tmp_path: Path) -> None:
    """Whoever holds a file still writes it, whatever the number of its process means here."""
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    command = [sys.executable, "-c", WRITES, str(tmp_path / "points" / "abc.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        used = Path(process.stdout.readline().strip())
        renamed = used.with_name(used.name.replace(str(process.pid), "4194303"))  # its number in another namespace
        used.rename(renamed)
        ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
        assert renamed.exists()
        process.kill()
        process.communicate()
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    assert not renamed.exists()


def test_too_many_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="this makes 100,000,000 points; a sweep has at most 100,000"):
        plan(tiny, [axis("rtt", "1 ms..2 ms:10000"), axis("rate", "1 Mbit/s..2 Mbit/s:10000")])
    with pytest.raises(SweepError, match="at most 100,000 points"):
        axis("rtt", "1 ms..2 ms:100000000")
    with pytest.raises(SweepError, match="this makes 100,000,000 points"):
        plan(tiny, [axis("rtt", "1 ms..2 ms")], latin=100_000_000)
    with pytest.raises(SweepError, match="this makes 100,000,000 points"):
        ac.sweep(tiny, {"rtt": "20 ms"}, seeds=100_000_000, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_metrics_are_known_before_the_runs(tiny: ac.Scenario, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"near ones are utilization.*\nmetrics are utilization, .*fct_s_p99"):
        ac.sweep(tiny, {"rtt": "20 ms"}, metric=["utilizaton"], store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    done = ac.sweep(tiny, {"rtt": "20 ms"}, metric=["delay_s_p99"], store=tmp_path / "store")
    assert sorted(metric_names(tiny)) == sorted(done.metrics)


def test_names_for_people(tiny: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    assert done.label("delay_s_p99") == "p99 delay, ms"
    assert done.label("utilization") == "utilisation, %"
    assert done.label("flows.all.jain") == "Jain index"
    shown = done.shown(["utilization", "delay_s_mean"])
    assert list(shown.columns) == ["rtt", "utilisation", "mean delay"]
    mean = done.table["links.bottleneck.delay_s_mean"].item()
    assert shown["mean delay"].item() == f"{1e3 * mean:.3g} ms"


def test_one_count_of_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    """A value in two spellings is two rows of one run, one given twice is one."""
    calls: list[Any] = []
    done = ac.sweep(tiny, {"rtt": "20 ms,20 ms,0.02 s,30 ms"}, store=tmp_path, progress=calls.append)
    assert len(done.points) == len(done.table) == 3
    assert (calls[-1].done, calls[-1].count, calls[-1].computed) == (3, 3, 3)
    assert len(points(tmp_path)) == 2


def test_interrupted(tiny: ac.Scenario, tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.computed:
            raise KeyboardInterrupt

    with pytest.raises(SweepInterrupted, match=r"interrupted: 1 of 30 points are kept in .*the same command again"):
        ac.sweep(tiny, {"rtt": "20 ms..50 ms:30"}, store=tmp_path / "store", threads=1, progress=stop)
    # none of these points is ever finished, however late the signal comes
    file, store = tmp_path / "tiny.toml", tmp_path / "endless"
    file.write_text(TINY.replace('"1 s"', '"1000000 s"').replace("2 Mbit", "200 Mbit"), encoding="utf-8")
    words = ["sweep", file, "--vary", "rtt=1ms,2ms,3ms", "--store", store]
    code, _, said = interrupted(words, after="0 of 3 points")
    assert code == 130
    assert f"ackclock: interrupted: 0 of 3 points are kept in {store}" in said.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')",
        "COPY points TO '{file}.csv'",
        "ATTACH '{file}.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO '{store}/points/0.jsonl'",
    ],
)
def test_queries_reach_nothing_else(tiny: ac.Scenario, tmp_path: Path, sql: str) -> None:
    file, store = tmp_path / "secret", tmp_path / "store"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    ac.sweep(tiny, {"rtt": "20 ms"}, store=store)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SweepError):
        Store(store).query(sql.format(file=file, store=store))
    assert sorted(tmp_path.rglob("*")) == before


def test_unsafe_queries_may(tiny: ac.Scenario, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path / "store")
    with pytest.raises(SweepError, match="--unsafe lets it reach files"):
        Store(tmp_path / "store").query(f"SELECT a FROM read_csv('{file}')")
    table = Store(tmp_path / "store").query(f"SELECT a FROM read_csv('{file}')", unsafe=True)
    assert table["a"].tolist() == [1]


def test_endless_query_is_interrupted(tiny: ac.Scenario, tmp_path: Path) -> None:
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    sql = "SELECT count(*) FROM range(10000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 3"
    command = [sys.executable, "-m", "ackclock", "query", sql, "--store", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while processor_time(process.pid) < 2 and process.poll() is None:  # the query has begun
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "ackclock: interrupted\n")


def test_a_store_without_its_folder_of_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    shutil.rmtree(tmp_path / "points")
    assert len(ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path).table) == 1
