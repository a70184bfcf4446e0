"""`python -m shortlist.cli` is `shortlist`."""

from shortlist.cli import main

if __name__ == "__main__":
    main()
