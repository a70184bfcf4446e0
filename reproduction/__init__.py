"""The paper: its algorithms as published, its experiments, its figures."""
