"""Figures show what the result holds, in the user's axes or in their own."""

import io
from itertools import pairwise

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from ackclock import analysis, plot
from ackclock.core.series import thin
from ackclock.core.units import share
from ackclock.plot import style
from ackclock.present.plot.variants import _look
from synthetic_result import result

FIGURES = {
    "queue": plot.queue,
    "windows": plot.windows,
    "flows": plot.flows,
    "utilization": plot.utilization,
    "delay": plot.delay,
}


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    plt.close("all")


def words(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_on_the_axes_it_is_given(name: str) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert FIGURES[name](result(), ax=right) is right
    assert right.lines or right.patches
    assert not left.lines
    figure.canvas.draw()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_makes_its_own_axes_and_leaves_the_users_settings_alone(name: str) -> None:
    before = dict(mpl.rcParams)
    ax = FIGURES[name](result())
    assert dict(mpl.rcParams) == before
    assert ax.get_figure().get_layout_engine() is not None


@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_a_title_and_units(name: str) -> None:
    ax = FIGURES[name](result())
    assert ax.get_title(loc="left")
    units = {
        "queue": ("(s)", "(packets)"),
        "windows": ("(s)", "(packets)"),
        "flows": ("slowest first", "(Mbit/s)"),
        "utilization": ("(s)", "utilisation"),
        "delay": ("(ms)", "fraction of packets"),
    }[name]
    assert units[0] in ax.get_xlabel()
    assert units[1] in ax.get_ylabel()


def test_the_queue_is_that_of_the_slowest_link_with_its_thresholds() -> None:
    run = result()
    ax = plot.queue(run)
    assert ax.get_title(loc="left") == "Queue of bottleneck"
    time, drawn = ax.lines[0].get_data()
    np.testing.assert_array_equal(drawn, run.traces["link_queue_packets"].to_numpy()[0])
    np.testing.assert_array_equal(time, run.traces["time"])
    heights = {line.get_ydata()[0] for line in ax.lines[2:]}
    assert heights == {50, 100}
    assert "\u2191 capacity 2084" in words(ax)
    assert "AQM's average" in words(ax)


def test_a_queue_without_an_average_or_thresholds_is_drawn_alone() -> None:
    ax = plot.queue(result(), link="back")
    assert len(ax.lines) == 1


def test_the_time_outside_the_window_is_shaded() -> None:
    (shade,) = plot.queue(result()).patches
    assert (shade.get_x(), shade.get_width()) == (0, 50)
    assert not plot.queue(result(), span=(60, 70)).patches


def test_a_span_cuts_the_trace() -> None:
    time = plot.queue(result(), span=(60, 70)).lines[0].get_xdata()
    assert (time[0], round(time[-1], 6)) == (60, 70)


def test_windows_show_a_few_flows_and_the_mean_of_those_that_have_started() -> None:
    run = result()
    ax = plot.windows(run, span=(0, 10))
    assert sorted(text for text in words(ax).split("\n") if "flow" in text) == ["— flow 0", "— flow 11", "— flow 6"]
    mean = ax.lines[-1].get_ydata()
    cwnd = run.traces["flow_cwnd"].to_numpy()[:, : mean.size]
    np.testing.assert_allclose(mean, np.nanmean(cwnd, axis=0))


def test_one_flow_has_no_mean() -> None:
    assert len(plot.windows(result(flows=1)).lines) == 1


def test_chosen_flows_are_drawn_and_others_are_named_in_the_error() -> None:
    assert "flow 3" in words(plot.windows(result(), flows=[3]))
    with pytest.raises(ValueError, match=r"flow 40 was not traced; traced are 0, 1, .*\.\.\."):
        plot.windows(result(), flows=[3, 40])


def test_goodput_is_sorted_with_the_fair_share_beside_it() -> None:
    run = result(starved=True)
    ax = plot.flows(run)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.sort(run.flows["goodput"]) / 1e6)
    fair, starved = ax.lines[1].get_ydata()[0], ax.lines[2].get_ydata()[0]
    assert fair == pytest.approx(run.flows["goodput"].mean() / 1e6)
    assert starved == pytest.approx(analysis.STARVED_SHARE * fair)
    assert [line.is_dashed() for line in ax.lines[1:3]] == [False, True]  # in the legend of a chart both looked alike
    assert all(tick % 1 == 0 for tick in plot.flows(result(flows=2)).get_xticks())  # "flow 1.5" of two


def test_utilization_names_the_lowest_second() -> None:
    run = result()
    ax = plot.utilization(run)
    lowest = run.utilization_1s["bottleneck"].min()
    assert f"lowest {share(lowest)}" in words(ax)
    assert ax.get_ylim()[0] <= lowest


def test_the_delay_distribution_has_its_percentiles() -> None:
    run = result()
    ax = plot.delay(run)
    histogram = analysis.distribution(*run.delay_histograms["bottleneck"])
    for percent in (50, 95, 99):
        assert f"p{percent} {1e3 * histogram.percentile(percent):.3g} ms" in words(ax)
    shares = ax.lines[0].get_ydata()
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == 1


def test_labels_do_not_overlap() -> None:
    ax = plot.queue(result())
    ax.get_figure().canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 2 for low, high in pairwise(boxes))


def test_limits_are_taken_over() -> None:
    assert plot.queue(result(), limits=(0, 500)).get_ylim() == (0, 500)
    assert plot.delay(result(), limits=(0, 50)).get_xlim() == (0, 50)


def test_what_was_not_traced_is_said() -> None:
    run = result(traced=False)
    with pytest.raises(ValueError, match="was not traced"):
        plot.queue(run)
    with pytest.raises(ValueError, match="no flow was traced"):
        plot.windows(run)
    with pytest.raises(ValueError, match="there is no link 'up'; the links are 'bottleneck', 'back'"):
        plot.utilization(run, link="up")


def test_names_are_text_and_no_formulas() -> None:
    ax = plot.flows(result(flow_class="a$x^2$ & <b>$"))
    out = io.BytesIO()
    ax.get_figure().savefig(out, format="svg")
    assert r"a$x^2$ &amp; &lt;b&gt;$" in out.getvalue().decode().replace("\\", "")


def test_a_long_trace_keeps_its_extremes() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=100_000)
    values[54_321] = 50
    values[:100] = np.nan
    time, thinned = thin(np.arange(100_000.0), values, columns=500)
    assert thinned.size <= 1100
    assert np.nanmax(thinned) == 50
    assert time[np.nanargmax(thinned)] == 54_321
    assert np.nanmin(thinned) == np.nanmin(values)
    assert (np.diff(time) > 0).all()


def test_series_differ_in_colour_and_in_line_style_or_marker() -> None:
    looks = {(entry["color"], str(entry["linestyle"]), entry["marker"]) for entry in style.SERIES}
    assert len(looks) == len(style.SERIES)
    # a chart in the page tells whole lines from dashed
    looks = {(entry["color"], entry["linestyle"] == "-") for entry in map(style.series, range(2 * len(style.SERIES)))}
    assert len(looks) == 2 * len(style.SERIES)
    assert len({entry["marker"] for entry in style.SERIES}) == len(style.SERIES)
    assert [style.series(place) for place in range(len(style.SERIES))] == list(style.SERIES)
    more = [style.series(place) for place in range(30)]
    assert len({(look["color"], str(look["linestyle"])) for look in more}) == len(more), "the seventh was the first"
    drawn = [_look(place) for place in range(30)]
    assert len({(look["color"], str(look["linestyle"])) for look in drawn}) == len(drawn)
    assert {look["linestyle"] for look in drawn[: len(style.SERIES)]} == {"-"}
    lightness = sorted(np.dot(mpl.colors.to_rgb(color), (0.2126, 0.7152, 0.0722)) for color in style.JAGGED)
    assert min(np.diff(lightness)) > 0.1
