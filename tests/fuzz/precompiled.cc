// SentencePiece's table of replacements, behind a text and its length in one byte.
#include "trainer/text/precompiled.h"

#include <algorithm>

#include "base/utf8.h"
#include "fuzz.h"

FUZZ_TARGET(precompiled) {
  using namespace bp::trainer;
  if (size == 0) return 0;
  const std::size_t length = std::min<std::size_t>(data[0], size - 1);
  std::string text = bp::valid_utf8(bp::test::text_of(data + 1, length));
  bp::test::read_anything([&] {
    const Precompiled table(bp::test::text_of(data + 1 + length, size - 1 - length));
    table.normalize(text);
    if (bp::find_invalid_utf8(text) != std::string_view::npos) std::abort();
  });
  return 0;
}
