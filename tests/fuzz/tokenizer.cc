// Any bytes as a text, whether or not they are UTF-8. The first byte selects cased or uncased.
#include "trainer/text/tokenizer.h"

#include "fuzz.h"

FUZZ_TARGET(tokenizer) {
  using namespace bp::trainer;
  static const Vocabulary vocabulary{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a",
                                      "##b", "ab", "##ab", "e", "##e", ".", "1", "##1",
                                      "\xe4\xb8\xad", "##\xcc\x81"}};
  static Tokenizer lower(vocabulary, true);
  static Tokenizer kept(vocabulary, false);
  if (size == 0) return 0;
  std::vector<std::int32_t> ids;
  ((data[0] & 1U) != 0 ? lower : kept).encode(bp::test::text_of(data + 1, size - 1), ids);
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= static_cast<std::int32_t>(vocabulary.tokens.size())) __builtin_trap();
  }
  return 0;
}
