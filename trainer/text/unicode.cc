#include "trainer/text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <utf8proc.h>

#include "base/check.h"

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

#include "trainer/text/unicode_tables.inc"

// Returns the range of a sorted table that contains c, or nullptr.
template <class Row, std::size_t size>
const Row* find_range(const Row (&table)[size], char32_t c) {
  const Row* row = std::lower_bound(std::begin(table), std::end(table), c,
                                    [](const Row& a, char32_t b) { return a.last < b; });
  return row != std::end(table) && row->first <= c ? row : nullptr;
}

void append_decomposition(char32_t c, std::vector<char32_t>& text) {
  if (c < 0x80 || find_range(kDecomposing, c) == nullptr) {
    text.push_back(c);
    return;
  }
  std::array<utf8proc_int32_t, 16> parts{};
  int unused = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             static_cast<utf8proc_ssize_t>(parts.size()),
                                             UTF8PROC_DECOMPOSE, &unused);
  BP_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()),
           "a character decomposes into at most four");
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

void decompose(std::vector<char32_t>& text) {
  std::vector<char32_t> parts;
  parts.reserve(text.size() + text.size() / 4);
  for (const char32_t c : text) {
    append_decomposition(c, parts);
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
