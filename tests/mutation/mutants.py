"""Makes the mutants of a source file: copies of it with one line changed, by the rules of universalmutator (PyPI) and
those below. It leaves out changes that no test could notice or that mean nothing: to comments, texts, includes and
declarations, to BP_CHECK (which aborts at a bug of bp), and to the operators of templates and references.
"""
import contextlib
import dataclasses
import importlib
import io
import pathlib
import re
import sys

# REGEX ==> REPLACEMENT, in the form that universalmutator reads. Its own rules do not include
# these.
OWN_RULES = r"""
\btrue\b ==> false
\bfalse\b ==> true
 <<  ==>  >> 
 >>  ==>  << 
 \^  ==>  | 
 \+=  ==>  -= 
 \+=  ==>  = 
 -=  ==>  += 
 \|=  ==>  = 
if \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\) ==> if (!(\1))
while \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\) ==> while (false && (\1))
return ([^;{}]+); ==> return !(\1);
 \? ([^?:]+) : ([^?:;]+)([;,)]) ==>  ? \2 : \1\3
 && ([^&|?;{}]+)([;{]) ==> \2
"""
SYMBOLS = "<>=!&|+-*/%^"
BINARY = {"<", "<=", ">", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>", "+", "-", "*", "/", "%",
          "+=", "-=", "*=", "|=", "="}
HEADS = re.compile(r"\s*(#|//|namespace\b|using\b|template\b|class\b|struct\b|enum\b|public:|private:|protected:"
                   r"|friend\b|static_assert\b|case\b.*:$|HWY_(BEFORE|AFTER)_NAMESPACE|HWY_EXPORT|BP_CHECK\b|[{}]*;?$)")
DECLARATION = re.compile(r"\s*(const\b|auto\b|static\b|constexpr\b|[\w:<>,]+[&*]* \w+( =|;|\())")
WORDS = {"min", "max", "begin", "end", "any_of", "all_of", "none_of", "true", "false", "if", "while"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int  # from 1
    old: str  # the line, without its indentation
    new: str

    def apply(self, text):
        lines = text.splitlines(keepends=True)
        old = lines[self.line - 1]
        lines[self.line - 1] = old[:len(old) - len(old.lstrip())] + self.new + "\n"
        return "".join(lines)


def code_of(line):
    """Returns the line without the contents of strings and without // comments."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    return re.sub(r"\s*//.*", "", line).rstrip()


def changed(old, new):
    """Returns where the lines begin to differ, and what differs, in whole operators and numbers."""
    begin = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    while begin > 0 and old[begin - 1] in SYMBOLS:
        begin -= 1
    while end > 0 and old[len(old) - end] in SYMBOLS:
        end -= 1
    return begin, old[begin:len(old) - end], new[begin:len(new) - end]


def means_something(old, new, known):
    """Returns whether the mutant can compile: an operator is replaced by another one of its kind, a whole number by
    another one, and so on, and all words are `known`.
    """
    if new.count("(") - new.count(")") != old.count("(") - old.count(")"):
        return False
    if not set(re.findall(r"[A-Za-z_]\w*", new)) <= known | WORDS or re.search(r"return !\((true|false)\)", new):
        return False
    begin, was, becomes = changed(old, new)
    after = old[begin + len(was):]
    if was and all(letter in SYMBOLS for letter in was):
        if old[begin - 1:begin] == " " and after.startswith(" "):
            return was in BINARY and becomes in BINARY
        return (was, becomes) in {("!", ""), ("-", ""), ("-", "+"), ("++", "--"), ("--", "++")} and "->" not in was
    if re.fullmatch(r"\d+", was):
        stands_alone = not re.search(r"[\w.']$", old[:begin]) and not re.match(r"[\w.']", after)
        return stands_alone and becomes not in {f"({was}+1)" if was == "0" else "", "(0-1)", "(1-1)"}
    return True


def without_statement(line, before):
    """Returns the line without its statement, or None if the line is not a statement of its own."""
    code = code_of(line)
    own = not before or before[-1] in ";{}:)" or before.endswith("else")
    if not own or not code.endswith(";") or re.search(r"[{}]", code) or DECLARATION.match(code) or "return" in code:
        return None
    return ";"


def outside_checks(lines):
    """Yields the lines that are not part of a BP_CHECK, with their numbers and the code before each."""
    before, depth = "", 0
    for number, line in enumerate(lines, 1):
        code = code_of(line)
        if depth > 0 or code.lstrip().startswith("BP_CHECK("):
            depth += code.count("(") - code.count(")")
            before = code
            continue
        if code.strip() and not HEADS.match(code):
            yield number, line, before
        if code.strip():
            before = code


def mutants_of(path, text, library):
    """Returns all mutants, in the order of lines. `library` is the folder that universalmutator was installed into."""
    if str(library) not in sys.path:
        sys.path.insert(0, str(library))
    mutator = importlib.import_module("universalmutator.mutator")
    own_rules = pathlib.Path(library) / "own.rules"
    own_rules.write_text(OWN_RULES)
    lines = text.splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints which rules it reads
        raw = mutator.mutants_regexp(lines, ["universal.rules", "c_like.rules", "cpp.rules", str(own_rules)],
                                     ignorePatterns=[])
    by_line = {}
    for number, new, *_ in raw:
        by_line.setdefault(number, []).append(new.rstrip("\n"))
    known = set(re.findall(r"[A-Za-z_]\w*", text))
    found = []
    for number, line, before in outside_checks(lines):
        old = line.strip()
        news = {}  # in order, each once
        for new in by_line.get(number, []):
            if new.lstrip().startswith("/*"):
                new = without_statement(line, before)
            elif "\n" in new or code_of(new) == code_of(line):
                new = None
            elif not means_something(code_of(line), code_of(new), known):
                new = None
            if new is not None and new.strip() != old:
                news[new.strip()] = True
        found += [Mutant(path, number, old, new) for new in news]
    return found
