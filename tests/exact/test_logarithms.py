"""Logarithms of floats, compared with balls."""

import math

import numpy as np
from flint import arb, ctx

from shortlist.exact.scaled import LOG_ERROR, compute_negative_logs, draw_exponentials
from shortlist.exact.uniform import draw_words
from shortlist.testing import SeededBits


def test_logarithms_are_within_their_error():
    """For numbers between 2^-200 and 1."""
    rng = np.random.default_rng(1)
    extremes = [[1.0, 0.5, 2.0**-200], 1 - np.geomspace(2.0**-53, 0.5, 400)]
    numbers = np.concatenate([*extremes, rng.random(200), 2.0 ** -rng.uniform(0, 200, 200)])
    with ctx.workprec(200):
        for number, log in zip(numbers.tolist(), compute_negative_logs(numbers).tolist(), strict=True):
            assert abs(-arb(number).log() - arb(log)) < LOG_ERROR
        assert abs(arb(2).log() - arb(math.log(2))) < arb(2) ** -54


def test_exponential_variables_are_within_their_error():
    """−ln U lies within the error for every U with the leading bits: for the smallest and for the largest of them."""
    words = np.append(draw_words(300, SeededBits(1)), np.array([1, 2, 2**11, 2**64 - 1], dtype=np.uint64))
    logs, errors = draw_exponentials(words)
    with ctx.workprec(200):
        for word, log, error in zip(words.tolist(), logs.tolist(), errors.tolist(), strict=True):
            for end in (word, word + 1):
                assert abs(-(arb(end) / 2**64).log() - arb(log)) <= arb(error)
    assert draw_exponentials(np.zeros(1, dtype=np.uint64))[1][0] == math.inf
