"""The figures are the paper's: what is on which axis, how it is scaled, what is labelled."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest

from reproduction.experiment.grid import CONTENDERS, TODAY
from reproduction.report import figures
from reproduction.report.comparisons import AXES
from shortlist.errors import MissingExtraError

pytestmark = pytest.mark.slow

MEASURES = ["CPU time (s)", "ℓ∞ error + 1", "ℓ1 error + 1"]


def _panels(figure):
    return [panel for panel in figure.axes if panel.get_visible()]


@pytest.mark.parametrize(
    ("vary", "axis", "scale"), [("k", "k", "linear"), ("epsilon", "ε", "log"), ("beta", "β", "log")]
)
def test_a_sweep_has_the_layout_of_the_paper(invented, vary, axis, scale):
    """A row for each data set, with time, ℓ∞ and ℓ1; lines of the paper's methods are dotted."""
    results = invented("games", "books")
    ours = sum(each.maker == "ours" and each.law not in TODAY for each in CONTENDERS.values())
    for row, in_time, in_errors in (("paper", 6, 5), ("ours", ours, ours)):
        panels = _panels(figures.picture_sweep(results, vary, row).draw())
        assert [panel.get_ylabel() for panel in panels] == 2 * MEASURES
        assert [panel.get_title() for panel in panels] == 3 * ["games"] + 3 * ["books"]
        for place, panel in enumerate(panels):
            assert (panel.get_xlabel(), panel.get_xscale(), panel.get_yscale()) == (axis, scale, "log")
            lines = panel.get_lines()
            assert len(lines) == len(panel.collections) == (in_errors if place % 3 else in_time)
            assert {line.get_linestyle() for line in lines} == {":" if row == "paper" else "-"}
            assert all(line.get_markerfacecolor() == "none" for line in lines)
    labels = [line.get_label() for line in _panels(figures.picture_sweep(results, vary, "paper").draw())[0].get_lines()]
    assert labels == ["FastJoint", "Joint", "PNF-Peel", "CDP-Peel", "FastJoint with buckets", "Truncated peel"]


def test_panels_of_a_kind_have_one_axis(invented, small):
    """Times, errors, ratios and gaps can be compared between data sets, programs and sweeps, also on the page."""
    results = invented("games", "books", seconds=lambda c, d, at: 1e-7 * d * at.k, error=lambda c, d, at: at.k)
    histograms = [small("games", d=400), small("books", d=300)]
    pictures = [*figures.list_pictures(results, histograms), *figures.picture_today(results)]
    axes = {}
    for picture in pictures:
        for panel in _panels(picture.draw()):
            axes.setdefault(panel.get_ylabel(), set()).add(panel.get_ylim())
    assert axes.pop("") is not None  # the panel of one list has no measure on its vertical axis
    assert set(axes) == {*MEASURES, "times as fast", "gap to the next + 1"}
    assert all(len(limits) == 1 for limits in axes.values())


def test_no_marker_hides_another(invented):
    """Where all lines are on top of each other, each has a smaller marker than the one below it."""
    results = invented("games", released=True)
    for picture in (*figures.list_pictures(results, []), *figures.picture_today(results)):
        for panel in _panels(picture.draw()):
            sizes = [line.get_markersize() for line in panel.get_lines() if line.get_marker() != "None"]
            assert sizes == sorted(sizes, reverse=True)
            assert len(set(sizes)) == len(sizes)
            assert min(sizes) >= 1.5


def test_what_to_use_today_has_a_figure(invented):
    """Against k, beside our Joint and CDP-Peel; a mechanism with a delta is dashed."""
    (picture,) = figures.picture_today(invented("games"))
    for panel in _panels(picture.draw()):
        lines = {line.get_label(): line for line in panel.get_lines()}
        assert set(lines) == {f"{name} (ours)" for name in ("joint", "cdp-peel", *TODAY)}
        assert lines["auto-delta (ours)"].get_linestyle() == "--"


def test_a_figure_fits_a_paper_and_its_caption_names_the_papers(invented):
    """As wide as its text, with letters of 6 points or more, and without a title."""
    picture = figures.picture_sweep(invented("games", trials=50, rounds=7), "epsilon", "paper")
    figure = picture.draw()
    assert figure.get_figwidth() == 5.5
    assert figure.get_suptitle() == ""
    panel = figure.axes[0]
    texts = [
        panel.title,
        panel.xaxis.label,
        panel.yaxis.label,
        *panel.get_xticklabels(),
        *figure.legends[0].get_texts(),
    ]
    assert min(text.get_fontsize() for text in texts) >= 6
    assert "Figures 2 and 5 of the paper" in picture.caption
    assert "lists for each error: 50; rounds for each time: 7" in picture.caption


def test_released_programs_are_the_papers_methods_where_they_ran(invented):
    """Their times are drawn; errors of Joint and the peels come from the published laws."""
    results = invented("games", released=True)
    assert figures.list_programs(results, "paper", "time")[1] == "released-joint"
    assert figures.list_programs(results, "paper", "linf")[:2] == ["released-fastjoint", "published-joint"]
    assert figures.list_programs(invented("games"), "paper", "time")[1] == "published-joint"


def test_errors_are_padded_by_one_and_times_are_not(invented):
    """An error of 0 is shown at 1."""
    results = invented("games", error=lambda c, d, at: -9, seconds=lambda c, d, at: 0.01)
    time, largest, total = _panels(figures.picture_sweep(results, "k", "paper").draw())[:3]
    assert all((line.get_ydata() == 1).all() for panel in (largest, total) for line in panel.get_lines())
    assert all(np.allclose(line.get_ydata(), 0.01, rtol=0.05) for line in time.get_lines())


def test_shades_span_the_quartiles(invented):
    """Rounds are 1 … 1.04 of the time, so quartiles are 1.01 and 1.03 of it."""
    results = invented("games", seconds=lambda c, d, at: 1.0)
    shade = _panels(figures.picture_sweep(results, "k", "paper").draw())[0].collections[0].get_paths()[0].vertices[:, 1]
    assert (shade.min(), shade.max()) == pytest.approx((1.01, 1.03))


def test_speed_ups_have_lines_at_ten_and_a_hundred(invented):
    """One panel for each data set, with and without the sequence step."""
    seconds = lambda c, d, at: 1.0 if c.law == "joint" else 0.05  # noqa: E731
    results = invented("games", "books", seconds=seconds, part=lambda c, d, at: 0.5, released=True)
    for panel in _panels(figures.picture_speed_ups(results).draw()):
        levels = [float(np.median(line.get_ydata())) for line in panel.get_lines()]
        assert levels == pytest.approx([20, 10, 20, 20, 10, 100])
        assert panel.get_yscale() == "log"


def test_joint_without_its_sequence_step_is_beside_fastjoint(invented):
    """The time before the step, along all three sweeps."""
    results = invented("games", seconds=lambda c, d, at: 1.0, part=lambda c, d, at: 0.5)
    panels = _panels(figures.picture_without_step(results, list(AXES)).draw())
    assert [panel.get_xlabel() for panel in panels] == ["k", "ε", "β"]
    for panel in panels:
        joint, before, fastjoint = panel.get_lines()
        assert np.allclose(joint.get_ydata(), 1.02)
        assert np.allclose(before.get_ydata(), 0.51)
        assert np.allclose(fastjoint.get_ydata(), 1.02)
    alone = _panels(figures.picture_without_step(invented("games", vary=("k",)), ["k"]).draw())
    assert [panel.get_xlabel() for panel in alone] == ["k"]


def test_a_stand_in_is_labelled_in_every_panel(invented, small):
    """In the sweeps, the speed-ups, the gaps and in Joint without its sequence step."""
    results = invented("games", stand_ins=("games",))
    for picture in (*figures.list_pictures(results, [small("games")]), *figures.picture_today(results)):
        for panel in _panels(picture.draw()):
            assert "games (stand-in)" in (panel.get_title(), *(label.get_text() for label in panel.get_yticklabels()))


def test_one_list_has_a_row_for_each_data_set(invented):
    """With the times of three programs in milliseconds, and beside them how many times as fast the next one is."""
    times = {"released-joint": 3.0, "released-fastjoint": 0.1, "fastjoint": 0.002}
    results = invented("games", "books", seconds=lambda c, d, at: times.get(c.name, 1.0), released=True)
    (panel,) = _panels(figures.picture_default(results).draw())
    assert [label.get_text() for label in panel.get_yticklabels()] == ["games", "books"]
    assert [line.get_xdata()[0] for line in panel.get_lines()] == pytest.approx([3060, 102, 2.04])
    assert [text.get_text() for text in panel.texts] == 2 * ["30×", "50×"]


def test_gaps_are_those_of_the_top_300(small):
    """One panel for each data set, padded by 1."""
    histograms = [small(name, d=400) for name in ("games", "books", "news", "food")]
    panels = _panels(figures.picture_gaps(histograms).draw())
    assert len(panels) == 4
    low, high = panels[0].get_ylim()
    assert all(low < line.get_ydata().min() and line.get_ydata().max() < high for p in panels for line in p.get_lines())
    counts = histograms[0].counts
    assert (panels[0].get_lines()[0].get_ydata() == counts[:300] - counts[1:301] + 1).all()


def test_every_law_has_a_colour_and_a_marker_of_its_own():
    """For readers who do not see all colours."""
    drawn = {each.mechanism for each in CONTENDERS.values() if each.has_time}
    looks = [figures.LOOKS[law] for law in drawn]
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == len(drawn)


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_figure_is_saved_the_same_way_twice(invented, kind, magic):
    """As PNG and as SVG, without a date in it."""
    results = invented("games", vary=("beta",))
    pictures = []
    for _ in range(2):
        target = io.BytesIO()
        figures.save(figures.picture_sweep(results, "beta", "paper").draw(), target, kind=kind)
        pictures.append(target.getvalue())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(magic)


def test_text_in_an_svg_is_text(invented):
    """With fonts that most systems have; as the outlines of letters, it was a third of the report."""
    target = io.BytesIO()
    figures.save(figures.picture_sweep(invented("games", vary=("beta",)), "beta", "paper").draw(), target, kind="svg")
    texts = [each for each in ElementTree.fromstring(target.getvalue()).iter() if each.tag.endswith("}text")]
    assert "β" in {"".join(each.itertext()).strip() for each in texts}
    assert all(f"'{figures._FONTS[0]}'" in ElementTree.tostring(each, "unicode") for each in texts)
    assert b"DejaVuSans-" not in target.getvalue()  # the names of outlines


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"'reproduction'"):
        figures.use_matplotlib()
