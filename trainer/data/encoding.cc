#include "trainer/data/encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

struct EncodingName {
  std::string_view other;
  std::string_view name;
};

// Names of Python and of people that iconv does not know.
constexpr std::array kOtherEncodingNames{
    EncodingName{"auto", kFindEncoding},    EncodingName{"utf8", "utf-8"},
    EncodingName{"utf-8-sig", "utf-8"},     EncodingName{"latin-1", "iso-8859-1"},
    EncodingName{"latin-9", "iso-8859-15"}, EncodingName{"mac-roman", "macintosh"},
    EncodingName{"shift-jis", "shift_jis"}, EncodingName{"utf-16-le", "utf-16le"},
    EncodingName{"utf-16-be", "utf-16be"},
};

constexpr std::array<std::string_view, 12> kUsualEncodings{
    "auto",         "utf-8",  "utf-16",    "utf-16le", "utf-32", "latin-1",
    "windows-1252", "cp1252", "macintosh", "gb18030",  "big5",   "shift_jis"};

bool iconv_knows(const std::string& name) {
  // iconv takes "", "char" and "wchar_t" for encodings of this process, and options after a slash.
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == ':' || c == '+';
  });
  if (!is_name || name.empty() || name == "char" || name == "wchar_t") return false;
  const iconv_t converter = ::iconv_open("UTF-8", name.c_str());
  // iconv_open() returns -1, cast to a pointer, for an error.
  if (reinterpret_cast<std::intptr_t>(converter) == -1) return false;
  ::iconv_close(converter);
  return true;
}

}  // namespace

std::string parse_encoding(const std::string& word) {
  std::string name = lower_case(word);
  std::string with_dashes = name;
  std::replace(with_dashes.begin(), with_dashes.end(), '_', '-');
  for (const EncodingName& other : kOtherEncodingNames) {
    if (with_dashes == other.other) return std::string(other.name);
  }
  if (iconv_knows(name)) return name;
  if (iconv_knows(with_dashes)) return with_dashes;
  const std::string nearest =
      nearest_name(name, std::vector<std::string>(kUsualEncodings.begin(), kUsualEncodings.end()));
  throw InputError(2, concat("--encoding: '", word, "' is not an encoding that iconv knows"),
                   nearest.empty() ? "auto, utf-8, utf-16, latin-1, windows-1252, or another name "
                                     "that iconv -l lists"
                                   : concat("did you mean '", nearest, "'?"));
}

}  // namespace bp::trainer
