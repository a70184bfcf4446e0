"""What a caller declares about counts in memory, and the order of a set that is released from them."""

import pickle
import warnings
from decimal import Decimal

import pandas as pd
import pytest

from shortlist import ParameterError, UsefulnessWarning, prepare, top_k
from shortlist.testing import SeededBits


@pytest.mark.parametrize("mechanism", ["auto", "subset"])
@pytest.mark.parametrize("labels", [["tea", "coffee", "milk"], [10, 9, 2], [("b",), "a", 3]])
def test_a_set_is_listed_in_the_order_of_its_labels(mechanism, labels):
    """`value_counts()` sorts labels by count, so the order in which they are passed may be data."""
    counts = dict(zip(labels, (70, 60, 0), strict=True))
    turned = dict(reversed(counts.items()))
    options = {"mechanism": mechanism, "k": 2, "epsilon": 1} | ({} if mechanism == "subset" else {"ordered": False})
    one, other = (prepare(each, **options) for each in (counts, turned))
    assert one.draw(SeededBits(7)) == other.draw(SeededBits(7))
    assert one.draw_many(2, SeededBits(7)) == other.draw_many(2, SeededBits(7))
    assert one.release(SeededBits(7)).items == other.release(SeededBits(7)).items


def test_noisy_counts_stay_with_their_items():
    """Counts are put in the order of the items."""
    release = prepare({"b": 900, "a": 100, "c": 0}, k=2, epsilon=5, ordered=False, counts_epsilon=5).release(
        SeededBits(7)
    )
    assert release.items == ("a", "b")
    assert release.counts.values[0] < 500 < release.counts.values[1]


def test_a_limit_below_the_sensitivity_is_refused():
    """Who adds 5 to one count casts 5 votes."""
    with pytest.raises(ParameterError, match="votes_per_person must be at least sensitivity, which is 5, not 3"):
        prepare([9, 5], k=1, epsilon=1, votes_per_person=3, sensitivity=5)


def test_a_number_without_a_hash_is_refused():
    """Terms are remembered by their values, and a signaling NaN cannot be."""
    with pytest.raises(ParameterError, match="epsilon must be a finite number"):
        prepare([5, 3, 0], k=1, epsilon=Decimal("sNaN"))


@pytest.mark.parametrize("mechanism", ["auto", "pnf-peel", "subset"])
def test_a_selector_may_be_sent_to_another_process(mechanism):
    """It draws there what it draws here."""
    selector = prepare({"b": 900, "a": 100, "c": 0}, k=2, epsilon=1, mechanism=mechanism)
    sent = pickle.loads(pickle.dumps(selector))
    assert sent.draw(SeededBits(7)) == selector.draw(SeededBits(7))


def test_others_are_asked_for_by_true_or_false():
    """What is only empty or zero is refused, too."""
    asked = {"k": 1, "epsilon": 1, "counts_epsilon": 1}
    for wrong in (0, "", "no", []):
        with pytest.raises(ParameterError, match="others must be True or False, not "):
            prepare({"a": 9, "b": 1}, **asked, others=wrong)
    assert prepare({"a": 9, "b": 1}, **asked, others=False).release().counts.others is None


def test_counts_of_observed_items_are_remarked_on():
    """`value_counts` of pandas lists only items with a vote, so the list of items depends on single persons."""
    votes = pd.Series(["a", "a", "b"])
    for verb in (top_k, prepare):
        with pytest.warns(UsefulnessWarning, match=r"value_counts\(\), which lists only items with a vote") as caught:
            verb(votes.value_counts(), k=1, epsilon=1)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            verb(votes.value_counts().reindex(["a", "b", "c"], fill_value=0).rename(None), k=1, epsilon=1)
            verb(votes.value_counts(), k=1, epsilon=1, delta="1e-6", mechanism="limited-domain")
