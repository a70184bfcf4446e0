"""How each engine matches and counts votes: one file and one class for each."""
