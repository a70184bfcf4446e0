"""Where randomness enters, and the exact draws that are made from it."""
