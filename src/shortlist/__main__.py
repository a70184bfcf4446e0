"""`python -m shortlist` is the command `shortlist`."""

from shortlist.cli import main

if __name__ == "__main__":
    main()
