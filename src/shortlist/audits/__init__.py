"""The audit: checks of the guarantee that anyone can run on their own machine.

The laws here are enumerated from the stated formulas. They share nothing with the code that draws.
"""
