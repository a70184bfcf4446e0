"""The programs that the paper timed: found in a folder of the user, checked, and run in a process of their own.

They are not part of this package and are never copied into it.
"""
