"""The figures are the paper's: what is on which axis, how it is scaled, what is labelled."""

import io

import numpy as np
import pytest

from shortlist.errors import MissingExtraError
from shortlist.paper.report import figures
from shortlist.paper.report.publish import all_figures


def _panels(figure):
    return [panel for panel in figure.axes if panel.get_visible()]


@pytest.mark.parametrize(
    ("draw", "axis", "scale"),
    [
        (figures.against_k, "k", "linear"),
        (figures.against_epsilon, "ε", "log"),
        (figures.against_beta, "β", "log"),
    ],
)
def test_three_measures_against_a_parameter(invented, draw, axis, scale):
    """Time, ℓ∞ and ℓ1 from left to right, with log axes, and all nine mechanisms."""
    panels = _panels(draw(invented("games"), "games"))
    assert [panel.get_ylabel() for panel in panels] == ["time (s)", "ℓ∞ error + 1", "ℓ1 error + 1"]
    for panel in panels:
        assert (panel.get_xlabel(), panel.get_xscale(), panel.get_yscale()) == (axis, scale, "log")
        assert len(panel.get_lines()) == 9
        assert len(panel.collections) == 9  # the shades


def test_errors_are_padded_by_one_and_times_are_not(invented):
    """An error of 0 is shown at 1."""
    results = invented("games", error=lambda contender, d, at: 0, seconds=lambda contender, d, at: 0.01)
    time, largest, total = _panels(figures.against_k(results, "games"))
    assert all((line.get_ydata() == 1).all() for panel in (largest, total) for line in panel.get_lines())
    assert all(np.allclose(line.get_ydata(), 0.01, rtol=0.05) for line in time.get_lines())


def test_shades_span_the_quartiles(invented):
    """Trials are 1 … 1.04 of the time, so quartiles are 1.01 and 1.03 of it."""
    results = invented("games", seconds=lambda contender, d, at: 1.0)
    shade = _panels(figures.against_k(results, "games"))[0].collections[0].get_paths()[0].vertices[:, 1]
    assert (shade.min(), shade.max()) == pytest.approx((1.01, 1.03))


def test_a_stand_in_is_labelled_in_every_panel(invented, small):
    """In the sweeps, in the gaps and in Joint without its sequence step."""
    results = invented("games", stand_ins=("games",))
    for _, figure in all_figures(results, [small("games")]):
        assert [panel.get_title() for panel in _panels(figure)] == ["games (stand-in)"] * len(_panels(figure))


def test_gaps_are_those_of_the_top_300(small):
    """One panel for each data set, padded by 1."""
    histograms = [small(name, d=400) for name in ("games", "books", "news", "food")]
    panels = _panels(figures.score_gaps(histograms))
    assert len(panels) == 4
    counts = histograms[0].counts
    assert (panels[0].get_lines()[0].get_ydata() == counts[:300] - counts[1:301] + 1).all()


def test_joint_without_its_sequence_step_stands_beside_fastjoint(invented):
    """The time before the step, along all three sweeps."""
    results = invented("games", seconds=lambda contender, d, at: 1.0, part=lambda contender, d, at: 0.5)
    panels = _panels(figures.without_sequence_step(results, "games"))
    assert [panel.get_xlabel() for panel in panels] == ["k", "ε", "β"]
    for panel in panels:
        joint, fastjoint = panel.get_lines()
        assert np.allclose(joint.get_ydata(), 0.51)
        assert np.allclose(fastjoint.get_ydata(), 1.02)


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_figure_is_saved_the_same_way_twice(invented, kind, magic):
    """As PNG and as SVG, without a date in it."""
    results = invented("games", vary=("beta",))
    pictures = []
    for _ in range(2):
        target = io.BytesIO()
        figures.save(figures.against_beta(results, "games"), target, kind=kind)
        pictures.append(target.getvalue())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(magic)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"shortlist\[paper\]"):
        figures.drawing()
