#include "trainer/text/unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include <utf8proc.h>

#include "base/check.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

struct LowerRange {
  char32_t first;
  char32_t last;
  char32_t step;
  int difference;
};

// Reads and removes a number, as digits() of make_unicode_tables.py writes it.
constexpr std::uint32_t next_number(std::string_view& digits) {
  std::uint32_t number = 0;
  for (unsigned shift = 0;; shift += 5) {
    const auto digit = static_cast<std::uint32_t>(digits.front() - '0');
    digits.remove_prefix(1);
    number |= (digit & 31U) << shift;
    if (digit < 32) return number;
  }
}

template <class Row, std::size_t size>
consteval std::array<Row, size> unpack(std::string_view digits) {
  std::array<Row, size> rows{};
  char32_t end = 0;
  for (Row& row : rows) {
    row.first = end + next_number(digits);
    row.last = row.first + next_number(digits);
    end = row.last + 1;
    if constexpr (std::is_same_v<Row, LowerRange>) {
      row.step = 1 + next_number(digits);
      const auto twice = static_cast<int>(next_number(digits));  // odd: below 0
      row.difference = twice % 2 == 0 ? twice / 2 : -(twice + 1) / 2;
    }
  }
  return rows;
}

#include "trainer/text/unicode_tables.inc"

// Returns the range of a sorted table that contains c, or nullptr.
template <class Row, std::size_t size>
const Row* find_range(const std::array<Row, size>& table, char32_t c) {
  const auto row = std::ranges::lower_bound(table, c, {}, &Row::last);
  return row != table.end() && row->first <= c ? &*row : nullptr;
}

bool decomposes(char32_t c, Decomposition kind) {
  if (c < 0x80) return false;
  if (find_range(kDecomposing, c) != nullptr) return true;
  return kind == Decomposition::compatible && find_range(kCompatible, c) != nullptr;
}

void append_decomposition(char32_t c, Decomposition kind, std::vector<char32_t>& text) {
  if (!decomposes(c, kind)) {
    text.push_back(c);
    return;
  }
  std::array<utf8proc_int32_t, 32> parts{};
  int unused = 0;
  const int options =
      UTF8PROC_DECOMPOSE | (kind == Decomposition::compatible ? UTF8PROC_COMPAT : 0);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             static_cast<utf8proc_ssize_t>(parts.size()),
                                             static_cast<utf8proc_option_t>(options), &unused);
  BP_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()),
           "a character decomposes into at most 18");
  text.insert(text.end(), parts.begin(), parts.begin() + count);
}

// Returns the canonical combining class of a character. Characters newer than the wheel's tables
// count as starters (class 0).
int combining_class(char32_t c) {
  if (c < 0x300 || (!is_mark(c) && find_range(kMoving, c) == nullptr)) {
    return 0;
  }
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

}  // namespace

bool is_dropped(char32_t c) { return find_range(kDropped, c) != nullptr; }
bool is_space(char32_t c) { return find_range(kSpaces, c) != nullptr; }
bool is_ideograph(char32_t c) { return c >= 0x3400 && find_range(kIdeographs, c) != nullptr; }
bool is_punctuation(char32_t c) { return find_range(kPunctuation, c) != nullptr; }
bool is_mark(char32_t c) { return c >= 0x300 && find_range(kMarks, c) != nullptr; }

char32_t lower_case(char32_t c) {
  const LowerRange* range = find_range(kLower, c);
  if (range == nullptr || (c - range->first) % range->step != 0) {
    return c;
  }
  return static_cast<char32_t>(static_cast<int>(c) + range->difference);
}

void append_lower_case(char32_t c, std::string& text) {
  constexpr char32_t kDottedI = 0x130;
  if (c == kDottedI) {
    text += "i\u0307";
  } else {
    append_utf8(lower_case(c), text);
  }
}

bool is_letter(char32_t c) { return find_range(kLetters, c) != nullptr; }
bool is_number(char32_t c) { return find_range(kNumbers, c) != nullptr; }
bool is_combining(char32_t c) { return c >= 0x300 && find_range(kCombining, c) != nullptr; }

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::size_t white_space_at_start(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size() && is_white_space(next_code_point(text, at));) end = at;
  return end;
}

std::size_t white_space_at_end(std::string_view text) {
  std::size_t begin = text.size();
  for (std::size_t at = begin; at > 0;) {
    do {
      --at;
    } while (at > 0 && continues_character(text[at]));
    std::size_t after = at;
    if (!is_white_space(next_code_point(text, after))) break;
    begin = at;
  }
  return text.size() - begin;
}

void compose(std::vector<char32_t>& text) {
  std::vector<utf8proc_int32_t> characters(text.begin(), text.end());
  const auto count =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  BP_CHECK(count >= 0, "a decomposed text can be composed");
  text.assign(characters.begin(), characters.begin() + count);
}

void decompose(std::vector<char32_t>& text, Decomposition kind) {
  std::vector<char32_t> parts;
  parts.reserve(text.size() + text.size() / 4);
  for (const char32_t c : text) {
    append_decomposition(c, kind, parts);
  }
  text.swap(parts);
  // Sorts each run between starters by class; equal classes keep their order.
  for (auto run = text.begin(); run != text.end(); ++run) {
    if (combining_class(*run) == 0) {
      continue;
    }
    const auto end =
        std::find_if(run, text.end(), [](char32_t c) { return combining_class(c) == 0; });
    std::stable_sort(
        run, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    run = end - 1;
  }
}

}  // namespace bp::trainer
