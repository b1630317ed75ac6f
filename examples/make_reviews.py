#!/usr/bin/env python3
"""Writes reviews.csv: short invented reviews of films, books, cafes and the like, good or bad.

    python3 examples/make_reviews.py > examples/reviews.csv

The meaning of a review depends on word order and negation, not on which words it contains. It negates an
adjective ("far from dull"), weighs two ("the plot was dull, but the ending superb": the last clause counts;
"superb, even though the start was dull": the first), or expects one and finds the opposite. Every word of
praise is about as frequent in bad reviews as in good ones, so counting words is not enough. No two reviews
are the same. The script has its own random numbers, so it writes the same file on every machine and Python.
"""
import sys

ROWS = 4000

THINGS = {
    "film": "acting,plot,ending,soundtrack,dialogue,camera work,opening scene,casting,pacing,script",
    "novel": "plot,ending,dialogue,first chapter,prose,cover,narrator,pacing,translation,final twist",
    "cafe": "coffee,service,cake,music,seating,menu,breakfast,espresso,terrace,lunch",
    "hotel": "room,breakfast,service,bed,view,pool,lobby,bathroom,reception,garden",
    "game": "story,soundtrack,tutorial,artwork,level design,multiplayer mode,ending,tempo,map,voice acting",
    "concert": "sound,singer,band,opening act,venue,encore,lighting,drummer,choice of songs,crowd",
    "phone": "battery,screen,camera,keyboard,speaker,case,charger,software,microphone,finish",
    "museum": "main hall,audio guide,shop,new wing,exhibition,restaurant,ticket office,tour,layout,garden",
}
GOOD = "superb,great,wonderful,excellent,brilliant,charming,delightful,lovely".split(",")
BAD = "dull,awful,terrible,dreadful,boring,disappointing,poor,tedious".split(",")

# {a} and {b}: parts of the thing; {x}: an adjective of the meaning of the review; {y}: of the other.
PLAIN = [
    "The {a} was {x}.",
    "The {a} was really {x}, and I noticed it at once.",
    "I found the {a} {x}.",
    "What a {x} {thing}!",
    "A {x} {thing} with a {x2} {a}.",
    "The {a} was {x} and the {b} was {x2}.",
    "Everybody at our table called the {a} {x}.",
    "Even on a second look the {a} is {x}.",
]
NEGATED = [
    "The {a} was not {y}.",
    "The {a} was not {y} at all.",
    "The {a} was far from {y}.",
    "The {a} was anything but {y}.",
    "Nobody could call the {a} {y}.",
    "I would never call the {a} {y}.",
    "This {thing} is not {y}.",
    "The {a} was hardly {y}, and the {b} was not {y2} either.",
    "It is anything but a {y} {thing}.",
]
WEIGHED = [
    "The {a} was {y}, but the {b} was {x}.",
    "The {a} was {y}, but in the end the {b} was {x}, and that is what I remember.",
    "Although the {a} was {y}, the {b} was {x}.",
    "The {b} was {x}, even though the {a} was {y}.",
    "The {a} was {y} but the {b} {x}.",
]
EXPECTED = [
    "I expected the {a} to be {y}, but it was {x}.",
    "My sister promised me a {y} {thing}, but it turned out {x}.",
    "I had read that the {a} was {y}, but I found it {x}.",
    'The poster said "{y}", but I say {x}.',
    'A friend called the {a} "{y}", but to me it was {x}.',
    "It used to be {y}, but now the {a} is {x}.",
]
KINDS = [(PLAIN, 36), (NEGATED, 28), (WEIGHED, 21), (EXPECTED, 15)]

BEFORE = [
    "It was a rainy {day}.",
    "We tried this {thing} on {day}.",
    "My brother chose the {thing}, not me.",
    "Written on {day}, after a talk with {n} friends.",
    "This was my first {thing} since {month}.",
    "It cost {n} euros, tax and all.",
    "Second visit, this time with my {kin}.",
    "My {kin} gave me this {thing} for a birthday.",
    "Some notes on the {thing} from {month}:",
    "A word about this {thing}, before I forget.",
]
AFTER = [
    "That is all there is to say.",
    "We left at {n} o'clock.",
    "My {kin} thinks the same.",
    "I wrote this down on {day}, at home.",
    'As my {kin} put it: "there you have it".',
    "The next {thing} is planned for {month}.",
    "It took us {n} hours, door to door.",
    "Tickets, tea and tram came to {n} euros.",
    "So much for {day}.",
    "My {kin} and I talked about it all {day}.",
]
DAYS = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday".split(",")
MONTHS = "January,February,March,April,May,June,July,August,September,October".split(",")
KIN = "mother,father,aunt,uncle,cousin,neighbour,boss,colleague,teacher,daughter,son".split(",")


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % bound

    def pick(self, items):
        return items[self.below(len(items))]

    def two(self, items):
        first = self.below(len(items))
        second = (first + 1 + self.below(len(items) - 1)) % len(items)
        return items[first], items[second]


def pick_kind(random):
    roll = random.below(sum(weight for _, weight in KINDS))
    for kind, weight in KINDS:
        if roll < weight:
            return kind
        roll -= weight


def with_articles(text):
    """a excellent -> an excellent"""
    words = text.split(" ")
    for i in range(1, len(words)):
        if words[i - 1] in ("a", "A") and words[i].strip('"')[:1] in tuple("aeiou"):
            words[i - 1] += "n"
    return " ".join(words)


def make_review(random, is_good):
    thing = random.pick(sorted(THINGS))
    a, b = random.two(THINGS[thing].split(","))
    same, other = (GOOD, BAD) if is_good else (BAD, GOOD)
    x, x2 = random.two(same)
    y, y2 = random.two(other)
    sentences = [random.pick(pick_kind(random))]
    if random.below(10) < 5:
        sentences.insert(0, random.pick(BEFORE))
    if random.below(10) < 5:
        sentences.append(random.pick(AFTER))
    joint = "\n" if random.below(8) == 0 else " "
    text = joint.join(sentences).format(
        thing=thing, a=a, b=b, x=x, x2=x2, y=y, y2=y2, n=2 + random.below(18),
        day=random.pick(DAYS), month=random.pick(MONTHS), kin=random.pick(KIN))
    return with_articles(text)


def quoted(field):
    needs = any(c in field for c in ',"\n')
    return '"' + field.replace('"', '""') + '"' if needs else field


def main():
    random = Random(20)
    seen = set()
    lines = ["review,label"]
    while len(lines) <= ROWS:
        is_good = random.below(2) == 0
        review = make_review(random, is_good)
        if review not in seen:
            seen.add(review)
            lines.append(quoted(review) + "," + ("good" if is_good else "bad"))
    sys.stdout.buffer.write(("\n".join(lines) + "\n").encode())


main()
