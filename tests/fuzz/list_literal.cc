// A list of numbers as Python writes it, of any bytes. It is refused with a text, or its numbers
// are those that the list of them, written again, has.
#include "trainer/tasks/classify/list_literal.h"

#include <cstdlib>

#include "base/text.h"
#include "fuzz.h"

FUZZ_TARGET(list_literal) {
  using bp::trainer::parse_list_literal;
  const std::string text = bp::test::text_of(data, size);
  std::vector<std::int32_t> numbers;
  if (!parse_list_literal(text, numbers).empty()) return 0;
  std::string written = "[";
  for (const std::int32_t number : numbers) {
    if (number < 0) std::abort();
    written += bp::concat(written.size() > 1 ? ", " : "", number);
  }
  std::vector<std::int32_t> again;
  if (!parse_list_literal(written + "]", again).empty() || again != numbers) std::abort();
  return 0;
}
