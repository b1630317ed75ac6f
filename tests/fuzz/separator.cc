// A first line such as "sep=;", and a separator as a user names it. An accepted separator must be
// able to separate fields, and its name must give it again.
#include "trainer/input/separator.h"

#include <cstdlib>

#include "fuzz.h"
#include "input_file.h"

namespace {

using namespace bp::trainer;

void require_separator(char separator) {
  const std::string word(1, separator);
  if (parse_separator(word) != separator) std::abort();
  if (separator_name(separator).empty()) std::abort();
}

}  // namespace

FUZZ_TARGET(separator) {
  const std::string text = bp::test::text_of(data, size);
  const SeparatorLine line = find_separator_line(text);
  if (line.length > text.size()) std::abort();
  if ((line.length == 0) != (line.separator == kFindSeparator)) std::abort();
  if (line.length > 0) {
    require_separator(line.separator);
    if (text.find(line.separator) >= line.length) std::abort();
  }
  bp::test::read_input([&] {
    const char separator = parse_separator(text);
    if (separator != kFindSeparator) require_separator(separator);
  });
  return 0;
}
