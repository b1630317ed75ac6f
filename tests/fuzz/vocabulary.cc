// A vocab.txt or a tokenizer.json, and a tokenizer made of it.
#include "fuzz.h"
#include "trainer/text/token_texts.h"
#include "trainer/text/tokenizer.h"

FUZZ_TARGET(vocabulary) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const std::string text = bp::test::text_of(data, size);
    const Vocabulary vocabulary =
        Vocabulary::parse(text, text.starts_with('{') ? "input.json" : "input");
    bp::test::require(token_texts(vocabulary).size() == vocabulary.tokens.size());
    Tokenizer tokenizer(vocabulary);
    std::vector<std::int32_t> ids;
    tokenizer.encode("Anything at all, [SEP] 42 \xc3\xa9t\xc3\xa9 \xe4\xb8\xad", ids);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= static_cast<std::int32_t>(vocabulary.tokens.size())) std::abort();
    }
  });
  return 0;
}
