#include "trainer/data/file_kind.h"

#include <algorithm>
#include <array>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

using namespace std::string_view_literals;

// ASCII text in UTF-16 has a zero in every other byte. It may lack a byte order mark.
bool looks_like_utf16(std::string_view start) {
  constexpr std::size_t kLooked = 256;
  const std::string_view looked = start.substr(0, std::min(kLooked, start.size() & ~1UL));
  std::array<std::size_t, 2> zeros{};  // at even and at odd offsets
  for (std::size_t i = 0; i < looked.size(); ++i) {
    zeros[i % 2] += looked[i] == '\0' ? 1 : 0;
  }
  const std::size_t units = looked.size() / 2;
  return units >= 4 && std::min(zeros[0], zeros[1]) == 0 &&
         2 * std::max(zeros[0], zeros[1]) > units;
}

bool has_utf32_mark(std::string_view start) {
  return start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv);
}

}  // namespace

bool has_utf16_mark(std::string_view start) {
  return (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) && !has_utf32_mark(start);
}

void refuse_wide_text(const std::string& path, std::string_view start) {
  const auto refuse = [&](const char* name, const char* encoding) {
    throw InputError(65, concat(path, " is ", name, ", not UTF-8"),
                     concat("name the encoding: --encoding ", encoding));
  };
  if (has_utf32_mark(start)) refuse("UTF-32", "utf-32");
  if (has_utf16_mark(start)) refuse("UTF-16", "utf-16");
  if (looks_like_utf16(start)) {
    refuse("UTF-16 without a byte order mark", start[0] != '\0' ? "utf-16le" : "utf-16be");
  }
}

void refuse_binary_content(const std::string& path, std::string_view start) {
  const std::size_t bad = find_invalid_utf8(start);
  // A character may be cut at the end of `start`.
  const bool invalid = bad != std::string_view::npos && bad + 4 <= start.size();
  if (!invalid || start.find('\0') == std::string_view::npos) return;
  throw InputError(65, concat(path, " is a binary file of an unknown kind, not a text file"),
                   "export its texts and labels as a CSV file in UTF-8");
}

void refuse_json_array(const std::string& path, std::string_view start) {
  constexpr std::string_view kBlanks = " \t\r\n";
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  if (!start.starts_with('[') || !begins_with_object(start.substr(1))) return;
  throw InputError(65, concat(path, " is a JSON array, not JSON lines"),
                   "make one line of each element with jq: jq -c '.[]' OLD > NEW");
}

bool begins_with_object(std::string_view start) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto skip_blanks = [&] {
    start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
  };
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  skip_blanks();
  if (!start.starts_with('{')) return false;
  start.remove_prefix(1);
  skip_blanks();
  return start.starts_with('"') || start.starts_with('}');
}

}  // namespace bp::trainer
