"""How each engine matches and counts votes."""
