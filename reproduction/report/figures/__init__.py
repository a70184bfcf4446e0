"""The figures of the paper in its layout: medians, shaded quartiles, log axes, errors padded by 1.

The paper's four methods come first, dotted with hollow markers as in the paper; our mechanisms are in a second row.
"""
