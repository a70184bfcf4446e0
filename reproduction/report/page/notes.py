"""Notes for reviewers: differences from the paper, threats to validity, and errors of the paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A point in which this experiment differs from the paper's."""

    point: str
    paper: str
    here: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A slip in the paper, what it should be, and one line of derivation."""

    place: str
    printed: str
    correct: str
    derivation: str


DEVIATIONS = (
    Deviation(
        point="Time",
        paper="wall-clock time of one call",
        here="CPU time of one call, in a process with one thread; wall-clock time and load are kept beside it",
    ),
    Deviation(
        point="Repetitions of a time",
        paper="200, all programs in turn at one setting; 5 for Joint without its sequence step",
        here="by default 20 rounds over all settings, programs and data sets; a cell that takes long stops after 40 s, "
        "but not before 4 rounds; the tables give the number",
    ),
    Deviation(
        point="Errors of Joint, PNF-Peel and CDP-Peel",
        paper="of the 200 timed lists",
        here="by default of 200 lists drawn in a batch from the same law, with the subset sizes computed once; the "
        "lists that were timed are compared with them below",
    ),
    Deviation(
        point="Errors of FastJoint",
        paper="of the 200 timed lists",
        here="by default of 200 lists from the authors' own functions, with their subset sizes computed once",
    ),
    Deviation(
        point="Joint on large data",
        paper="at all 20 values of k and 5 of ε",
        here="timed at k = 10, 50, 100, 150, 200 on data with 30,000 items or more; on food at ε = 1 only",
    ),
    Deviation(
        point="Data",
        paper="games, books, news, tweets, movies, food",
        here="where the file is absent, a stand-in of the same size, marked everywhere; verdicts on errors leave "
        "stand-ins out",
    ),
    Deviation(
        point="Joint without its sequence step",
        paper="timed in a run of its own",
        here="the clock is read when the step begins, in the same call that is timed as Joint",
    ),
    Deviation(
        point="NumPy",
        paper="not stated (2024)",
        here="released programs: the NumPy named below, in an environment of their own; ours: that of this machine",
    ),
    Deviation(point="Machine", paper="macOS, M2, 24 GB", here="as named below"),
)

THREATS = (
    "Ratios of times depend on the machine and on NumPy. The paper's M2 is not this machine.",
    "CPU time leaves out waiting, but a busy neighbour also slows caches and memory. The load is given below, "
    "and how far wall-clock time exceeds CPU time; a run at a load above the number of cores should be repeated.",
    "The cdp-peel of this package calibrates its noise at the first call with new k, ε and δ in a process, and "
    "remembers it. The medians show the later calls; the first one takes some tenths of a second longer.",
    "Seeds are fixed, so a second run repeats the errors exactly. Another seed is another sample.",
    "Thresholds such as 10 for “order of magnitude” are readings of the paper's words. Another reader may choose "
    "others; the rules are part of the code, whose version is given below.",
    "A verdict covers the settings that were measured. “Holds” is not a proof.",
    "A verdict counts comparisons, and not every data set has as many. Joint is timed at 20 values of k on small data "
    "and at five on large data, so small data weigh more in the verdicts on Joint's time.",
    "The machine decides about “quite stable”: under load the quartiles of a time lie further apart.",
    "Stand-ins have the right size and an invented shape. Times of FastJoint depend on the number of distinct counts, "
    "which a stand-in only imitates.",
)

ERRATA = (
    Erratum(
        place="Section 5, varying β",
        printed="τ = ⌈(1/ε)·ln(C(d,k)·k!/β)⌉",
        correct="τ = ⌈(2/ε)·ln(C(d,k)·k!/β)⌉",
        derivation="|S|·e^(−ετ/2) = β gives τ = (2/ε)·ln(|S|/β), as Theorem 4.1 and the released code have it",
    ),
    Erratum(
        place="Section 3, utility guarantee of Joint",
        printed="τ ∈ Θ((k/ε)·(k·ln d + ln(1/β)))",
        correct="τ ∈ Θ((1/ε)·(k·ln d + ln(1/β)))",
        derivation="ln(C(d,k)·k!) = Σ ln(d − j) over j < k lies between (k/2)·ln(d/2) and k·ln d, because d − j ≥ d/2 "
        "for half of the j; so one factor k comes from the logarithm and no other",
    ),
    Erratum(
        place="Section 4, size of the merged subsets",
        printed="ln(d − C_{r−1,i})",
        correct="ln(d − C_{τ−1,i})",
        derivation="position i may take any item with h ≤ h_(i) − τ: all d but those with h ≥ h_(i) − (τ − 1); r is "
        "not bound in the formula",
    ),
    Erratum(
        place="Section 5, error metrics",
        printed="max |h_(i) − s[i]| and Σ |h_(i) − s[i]|",
        correct="max |h_(i) − h[s[i]]| and Σ |h_(i) − h[s[i]]|",
        derivation="s[i] is an item, not a score; the released code subtracts item_counts[selected_items]",
    ),
    Erratum(
        place="Appendix B, corner case r = 0",
        printed="|S_{0,i}| = 0 unless i = 0; set C_{−1,0} = 0",
        correct="|S_{0,i}| = 0 unless i = 1; set C_{−1,1} = 0",
        derivation="positions count from 1, and every position of a list of loss 0 reaches loss 0, so the first does; "
        "C_{−1,1} = 0 makes the factor of position 1 equal to 0 for every i > 1",
    ),
    Erratum(
        place="Appendix A, tie-breaking term of Joint",
        printed="sort by loss_{i,j} + i/(2k) − j/(2dk)",
        correct="sort by loss_{i,j} − i/(2k) + j/(2dk)",
        derivation="before i the loss must be smaller: h[s] > h[l] − loss for l < i needs ties of an earlier l to come "
        "later, so the term falls with i; Google's code has d(k − i) + j",
    ),
    Erratum(
        place="Appendix A, bound of the tie-breaking term for l > i",
        printed="(i − l)/(2k) − (j − j′)/(2dk) ≤ −1/(2k) − (d − 1)/(2dk)",
        correct="(i − l)/(2k) − (j − j′)/(2dk) ≤ −1/(2k) + (d − 1)/(2dk)",
        derivation="−(j − j′) is at most d − 1, not at most −(d − 1); the bound is −1/(2dk), which is still below 0",
    ),
    Erratum(
        place="Section 4, simplification after Theorem 4.1",
        printed="the error τ reduces to O(d + k²/ε·ln d)",
        correct="the time O(d + k·τ) reduces to O(d + k²/ε·ln d)",
        derivation="τ ∈ O((k/ε)·ln d) when 1/β ∈ O(d^k), and an error has no summand d",
    ),
    Erratum(
        place="Appendix A, proof of the size of the merged subsets",
        printed="h_(l) is non-decreasing; h_(l) ∈ {j′ : h[j′] > h_(j) − τ}",
        correct="h_(l) is non-increasing; s[l] ∈ {j′ : h[j′] > h_(j) − τ}",
        derivation="h_(1) ≥ h_(2) ≥ …, and the set is one of items, not of scores",
    ),
    Erratum(
        place="Appendix B, recursion of C_{r,j}",
        printed="C_{r,j} − C_{r−1,j} = |f(h_(j) − r)| for 1 < r < τ",
        correct="the same for 0 < r < τ",
        derivation="the items with h ≥ h_(j) − r, but not h ≥ h_(j) − (r − 1), are those with h = h_(j) − r, also at "
        "r = 1; otherwise C_{1,j} has no value",
    ),
    Erratum(
        place="Appendix B, Algorithm 2, between the loops",
        printed="sample an s[j]",
        correct="sample an s[i]",
        derivation="the loop over j < i has ended, and position i is the first that reaches the loss",
    ),
    Erratum(
        place="Appendix B, lemma on the time of Algorithm 2",
        printed="O(d)",
        correct="O(d + (k + τ)·log(k + τ))",
        derivation="case III of its own proof sorts up to k + τ scores",
    ),
)


def write_notes() -> str:
    """The notes as tables in Markdown."""
    lines = ["## Differences from the paper", "", "| point | paper | here |", "|---|---|---|"]
    lines += [f"| {each.point} | {each.paper} | {each.here} |" for each in DEVIATIONS]
    lines += ["", "## Threats to validity", "", *(f"- {each}" for each in THREATS)]
    lines += ["", "## Errors of the paper", "", "| place | printed | correct | derivation |", "|---|---|---|---|"]
    for each in ERRATA:
        fields = (each.place, each.printed, each.correct, each.derivation)
        lines.append("| " + " | ".join(field.replace("|", "\\|") for field in fields) + " |")
    return "\n".join(lines) + "\n"
