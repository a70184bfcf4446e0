"""What is shown of an experiment: figures, verdicts on the paper's claims, and a page."""
