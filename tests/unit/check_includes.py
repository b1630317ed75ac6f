#!/usr/bin/env python3
"""Finds files that use a name of the standard library and leave the #include to others: check_includes.py [--fix] [ROOT].

A header includes the standard header of each std:: name that it uses. A source may leave that to headers of ours that it
includes itself. --fix adds what is missing. Names that several headers declare are given with all of them; the first is
the one that --fix takes. Finds headers that nobody includes, too."""

import pathlib
import re
import sys

PRODUCT = ("base", "comm", "launcher", "trainer")
FOLDERS = ("base", "bench", "comm", "examples", "include", "launcher", "tests", "trainer")
HEADERS = {
    "algorithm": "all_of any_of binary_search clamp copy copy_n count count_if equal equal_range fill fill_n find find_if "
                 "find_if_not for_each generate is_sorted lexicographical_compare lower_bound max_element min_element "
                 "minmax_element none_of nth_element partial_sort partition remove remove_if replace reverse rotate "
                 "search shuffle sort stable_sort stable_partition transform unique upper_bound",
    "array": "array to_array",
    "atomic": "atomic atomic_flag atomic_ref atomic_thread_fence memory_order memory_order_acquire memory_order_relaxed "
              "memory_order_release memory_order_seq_cst memory_order_acq_rel atomic_signal_fence",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero endian has_single_bit popcount",
    "bitset": "bitset",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "abs ceil exp fabs floor fma frexp isfinite isinf isnan ldexp llround log log2 log10 lround nextafter "
             "nearbyint pow remainder round signbit sqrt tanh trunc erf",
    "compare": "strong_ordering weak_ordering partial_ordering",
    "complex": "complex",
    "concepts": "convertible_to derived_from floating_point integral invocable same_as signed_integral unsigned_integral",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t",
    "cstdio": "fclose fflush fgets fopen fprintf fputc fputs fread fwrite perror printf puts snprintf stderr stdout "
              "vsnprintf FILE",
    "cstdlib": "abort atexit atoi atoll exit getenv mkstemp strtod strtol strtoll strtoul strtoull _Exit quick_exit "
               "aligned_alloc free malloc",
    "cstring": "memcmp memcpy memmove memset memchr strchr strcmp strerror strlen strncmp strstr",
    "ctime": "time_t tm gmtime localtime strftime mktime",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception terminate uncaught_exceptions "
                 "make_exception_ptr set_terminate",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind cref equal_to function greater hash invoke less plus multiplies reference_wrapper",
    "future": "async future promise packaged_task future_status",
    "initializer_list": "initializer_list",
    "iomanip": "quoted setfill setprecision setw",
    "iostream": "cerr cin clog cout",
    "iterator": "back_inserter distance inserter istreambuf_iterator next prev advance make_move_iterator ssize",
    "latch": "latch",
    "barrier": "barrier",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof default_delete make_shared make_unique shared_ptr unique_ptr weak_ptr assume_aligned align "
              "enable_shared_from_this static_pointer_cast dynamic_pointer_cast construct_at destroy_at",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock try_to_lock defer_lock adopt_lock",
    "new": "bad_alloc hardware_destructive_interference_size launder align_val_t nothrow",
    "numbers": "numbers",
    "numeric": "accumulate gcd inner_product iota lcm partial_sum reduce exclusive_scan inclusive_scan transform_reduce",
    "optional": "nullopt optional nullopt_t make_optional",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 normal_distribution random_device uniform_int_distribution uniform_real_distribution",
    "ranges": "views",
    "regex": "regex regex_match regex_replace regex_search smatch sregex_iterator cmatch",
    "semaphore": "binary_semaphore counting_semaphore",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range range_error runtime_error",
    "stop_token": "stop_callback stop_source stop_token",
    "string": "char_traits getline stod stof stoi stol stoll stoul stoull string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply get make_tuple tie tuple tuple_size forward_as_tuple",
    "type_traits": "conditional_t decay_t enable_if_t invoke_result_t is_base_of_v is_floating_point_v is_integral_v "
                   "is_same_v is_trivially_copyable_v is_unsigned_v is_signed_v remove_cvref_t remove_const_t "
                   "remove_reference_t type_identity_t underlying_type_t make_unsigned_t is_void_v is_enum_v "
                   "is_constant_evaluated is_convertible_v common_type_t void_t true_type false_type",
    "typeinfo": "type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "as_const cmp_equal cmp_greater cmp_less declval exchange forward in_range index_sequence integer_sequence "
               "make_index_sequence make_pair move pair swap piecewise_construct",
    "variant": "get_if holds_alternative monostate variant visit variant_size_v variant_alternative_t",
    "vector": "vector",
}
# Headers beside the first one that the standard lets declare a name.
ALSO = {
    "size_t": ("cstddef", "cstring", "cstdio", "cstdlib", "ctime", "array", "deque", "list", "map", "set", "span", "string",
               "string_view", "unordered_map", "unordered_set", "vector"),
    "byte": ("cstddef", "span"), "nullptr_t": ("cstddef",), "ptrdiff_t": ("cstddef",), "max_align_t": ("cstddef",),
    "abs": ("cmath", "cstdlib"), "ceil": ("cmath",), "min": ("algorithm",), "max": ("algorithm",),
    "minmax": ("algorithm",), "ranges": ("algorithm", "ranges", "iterator", "numeric", "memory"),
    "move": ("utility", "algorithm"), "get": ("tuple", "utility", "variant", "array", "memory", "ranges"),
    "remove": ("algorithm", "cstdio"), "hash": ("functional", "string", "string_view", "memory", "thread", "optional"),
    "begin": ("iterator", "array", "deque", "list", "map", "set", "span", "string", "string_view", "vector"),
    "swap": ("utility",), "ostream": ("ostream", "iostream", "sstream", "fstream", "iosfwd"),
    "istream": ("istream", "iostream", "sstream", "fstream", "iosfwd"),
    "ios": ("ios", "iostream", "sstream", "fstream"), "flush": ("ostream", "iostream", "sstream", "fstream"),
    "endl": ("ostream", "iostream"), "hex": ("ios", "iostream", "sstream", "fstream", "iomanip"),
    "tuple_size": ("tuple", "utility", "array"), "distance": ("iterator",), "log": ("cmath",),
    "function": ("functional",), "less": ("functional",), "greater": ("functional",),
    "bad_alloc": ("new",), "exception": ("exception", "stdexcept"), "free": ("cstdlib",),
    "time_t": ("ctime", "chrono"), "errc": ("system_error", "charconv"), "nothrow": ("new",),
    "initializer_list": ("initializer_list", "array", "deque", "list", "map", "set", "span", "string", "vector"),
    "memory_order": ("atomic",), "next": ("iterator",), "prev": ("iterator",),
    "strong_ordering": ("compare",), "string": ("string",), "getline": ("string",), "data": ("iterator", "string", "vector"),
}
KNOWN = {name: (header,) for header, names in HEADERS.items() for name in names.split()} | ALSO

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def standard_headers(text):
    return {name for name, _ in INCLUDE.findall(text) if name}


def missing(file, read):
    """{std name: headers of which the file includes none}."""
    text = read(file)
    have = standard_headers(text)
    if file.suffix == ".cc":
        for name in (name for _, name in INCLUDE.findall(text) if name):
            have |= standard_headers(read(pathlib.Path(name)) or read(pathlib.Path("include") / name) or read(file.parent / name))
    used = re.findall(r"\bstd::(\w+)", NOT_CODE.sub(" ", re.sub(r"^[ \t]*#.*", "", text, flags=re.MULTILINE)))
    return {name: KNOWN[name] for name in sorted(set(used)) if name in KNOWN and not have & set(KNOWN[name])}


def with_includes(text, headers):
    """The text with <headers> among its own standard includes, sorted, or in a block after its first include."""
    lines = text.splitlines(keepends=True)
    standard = [i for i, line in enumerate(lines) if re.match(r"#include <\w+>\n", line)]
    if standard:
        start = end = standard[0]
        while end + 1 < len(lines) and re.match(r"#include <\w+>\n", lines[end + 1]):
            end += 1
        block = sorted({*lines[start:end + 1], *(f"#include <{name}>\n" for name in headers)})
        return "".join(lines[:start] + block + lines[end + 1:])
    at = next((i for i, line in enumerate(lines) if line.startswith(("#include", "#pragma once"))), None)
    block = [f"#include <{name}>\n" for name in sorted(headers)]
    if lines[at].startswith("#pragma"):
        return "".join(lines[:at + 1] + ["\n"] + block + lines[at + 1:])
    return "".join(lines[:at + 1] + ["\n"] + block + lines[at + 1:])


def problems_of(root, files, fix=False):
    def read(file):
        path = root / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    found = []
    for file in files:
        names = missing(file, read)
        found += [f"{file} uses std::{name} and does not include <{headers[0]}>" for name, headers in names.items()]
        if fix and names:
            (root / file).write_text(with_includes(read(file), {headers[0] for headers in names.values()}), encoding="utf-8")
    return found


def dead_headers(root):
    """Yields the headers of the product, except public ones, that no source of the tree includes."""
    texts = [file.read_text(encoding="utf-8", errors="replace") for top in FOLDERS
             for file in (root / top).rglob("*") if file.suffix in (".h", ".cc", ".cu", ".in")]
    included = {name for text in texts for name in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)}
    for file in sources(root):
        is_ours = file.parts[0] in PRODUCT and "missing" not in file.parts  # Gloo includes what is missing in it
        if file.suffix == ".h" and is_ours and file.as_posix() not in included:
            yield f"{file} is included by no file"


def sources(root):
    return [file.relative_to(root) for top in FOLDERS for file in sorted((root / top).rglob("*")) if file.suffix in (".h", ".cc")]


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--fix"]
    tree = pathlib.Path(words[0] if words else ".")
    problems = problems_of(tree, sources(tree), fix="--fix" in sys.argv)
    problems += dead_headers(tree)
    print("\n".join(problems) or "every file includes what it uses of the standard library")
    sys.exit(1 if problems else 0)
