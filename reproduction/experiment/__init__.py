"""The paper's experiment: which methods run on which settings, and what is measured and kept."""
