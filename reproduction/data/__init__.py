"""The paper's data sets: where they are found, how they are read, and stand-ins where they are absent."""
