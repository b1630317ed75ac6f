#!/usr/bin/env python3
"""Writes unicode_tables.inc: the properties that the tokenizers wheel gives each code point.

The wheel mixes tables of several Unicode versions (marks and punctuation of version 8, lower case of
its compiler). Tables taken from it equal its own with any version of libutf8proc, which then only provides the
decompositions and combining classes of characters that are too old to change.

    python3 -m venv V && V/bin/pip install tokenizers==0.23.3
    V/bin/python trainer/text/make_unicode_tables.py > trainer/text/unicode_tables.inc
"""
import tokenizers
from tokenizers import Regex
from tokenizers.normalizers import NFD, NFKD, BertNormalizer, Lowercase, StripAccents
from tokenizers.pre_tokenizers import BertPreTokenizer, Split

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def ranges(code_points):
    found = []
    for c in code_points:
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def lower_ranges(lower):
    """[first, last, step, difference]: runs of equal difference at every or every second code point."""
    found = []
    for c in sorted(lower):
        difference = lower[c] - c
        if found and found[-1][3] == difference:
            run = found[-1]
            step = c - run[1]
            if step <= 2 and (run[0] == run[1] or run[2] == step):
                run[1], run[2] = c, step
                continue
        found.append([c, c, 1, difference])
    return found


def digits(number):
    """The digits that unpack() in unicode.cc reads: five bits each, the lowest first; a sixth bit says that another follows."""
    text = ""
    while number > 31:
        text += chr(ord("0") + (number & 31) + 32)
        number >>= 5
    return text + chr(ord("0") + number)


def packed(rows):
    """Each row's distance from the one before, its length less 1, and for lower case its step less 1 and its difference."""
    text, end = "", 0
    for first, last, *case in rows:
        text += digits(first - end) + digits(last - first)
        if case:
            step, difference = case
            text += digits(step - 1) + digits(2 * difference if difference >= 0 else -2 * difference - 1)
        end = last + 1
    return text


def emit(comment, name, kind, rows):
    text = packed(rows)
    lines = [text[at : at + 92] for at in range(0, len(text), 92)]
    print(f"\n// {comment}\nconstexpr auto {name} = unpack<{kind}, {len(rows)}>(")
    print("\n".join('    "' + line.replace("\\", "\\\\") + '"' for line in lines) + ");")


clean = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
chinese = BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False)
accents = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
words = BertPreTokenizer()
nfd, lowercase = NFD(), Lowercase()


def between(normalizer, c):
    return normalizer.normalize_str("a" + chr(c) + "b")[1:-1]


dropped = [c for c in CODE_POINTS if between(clean, c) == ""]
gone = set(dropped)
kept = [c for c in CODE_POINTS if c not in gone]
spaces = [c for c in kept if between(clean, c) == " "]
marks = [c for c in kept if between(accents, c) == ""]
mark_set = set(marks)
punctuation = [c for c in kept if len(words.pre_tokenize_str("a" + chr(c) + "b")) == 3]
decomposing = [c for c in kept if nfd.normalize_str(chr(c)) != chr(c)]
# Two characters of known classes, 9 and 226. A character that swaps places with one of them has a class too.
virama, stem = "\u1B44", "\U0001D16D"
moving = [
    c
    for c in kept
    if c not in mark_set
    and (
        nfd.normalize_str(stem + chr(c)) == chr(c) + stem
        or nfd.normalize_str(chr(c) + virama) == virama + chr(c)
    )
]
lower = {c: lowercase.normalize_str(chr(c)) for c in kept}
lower = {c: ord(s) for c, s in lower.items() if len(s) == 1 and s != chr(c)}



def of_category(name):
    """The code points of a category in the regular expressions with which byte-level tokenizers cut words."""
    everything = "".join(map(chr, CODE_POINTS))
    matches = Split(Regex(rf"\p{{{name}}}+"), "removed", invert=True).pre_tokenize_str(everything)
    return [ord(c) for text, _ in matches for c in text]


# Of all code points, because only BERT drops some.
compatible = [c for c in CODE_POINTS if NFKD().normalize_str(chr(c)) != nfd.normalize_str(chr(c))]
strip_accents = StripAccents()
combining = [c for c in CODE_POINTS if strip_accents.normalize_str("a" + chr(c)) == "a"]

print("// Written by make_unicode_tables.py from tokenizers", tokenizers.__version__)
emit("Characters that are removed first.", "kDropped", "Range", ranges(dropped))
emit("Characters that separate words.", "kSpaces", "Range", ranges(spaces))
emit("Characters that are words by themselves.", "kIdeographs", "Range", ranges(c for c in kept if len(between(chinese, c)) == 3))
emit("Characters that are tokens by themselves.", "kPunctuation", "Range", ranges(punctuation))
emit("Characters that are removed after decomposition.", "kMarks", "Range", ranges(marks))
emit("Characters that are not removed, but sorted with the marks.", "kMoving", "Range", ranges(moving))
emit("Characters with a canonical decomposition.", "kDecomposing", "Range", ranges(decomposing))
emit("First, last, step, and the difference to the lower case.", "kLower", "LowerRange", lower_ranges(lower))
emit("Characters with a decomposition for compatibility only.", "kCompatible", "Range", ranges(compatible))
emit("Characters that count as accents outside of BERT.", "kCombining", "Range", ranges(combining))
emit("Letters: category L.", "kLetters", "Range", ranges(of_category("L")))
emit("Numbers: category N.", "kNumbers", "Range", ranges(of_category("N")))
