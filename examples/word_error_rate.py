#!/usr/bin/env python3
"""Prints the word error rate of sentences: word_error_rate.py REFERENCE HYPOTHESIS, files with a sentence a line.

It is the number of words to replace, insert or delete, divided by the number of words of the reference.

>>> errors("the cat sat".split(), "the bat sat down".split())
2
>>> [errors(a.split(), b.split()) for a, b in (("", "a b"), ("a b", ""), ("a b c", "a b c"), ("a b c", "b c a"))]
[2, 2, 0, 2]
"""
import sys


def errors(reference, hypothesis):
    """Returns the Levenshtein distance of two lists of words."""
    row = list(range(len(hypothesis) + 1))
    for i, word in enumerate(reference, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(hypothesis, 1):
            above, row[j] = row[j], min(above + (word != other), row[j] + 1, row[j - 1] + 1)
    return row[-1]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    files = [[line.split() for line in open(name, encoding="utf-8")] for name in sys.argv[1:]]
    if len(files[0]) != len(files[1]):
        sys.exit(f"{sys.argv[1]} has {len(files[0])} sentences, and {sys.argv[2]} has {len(files[1])}")
    wrong, words = sum(map(errors, *files)), sum(map(len, files[0]))
    print(f"word error rate {wrong / max(words, 1):.4f}: {wrong} errors in {words} words")
