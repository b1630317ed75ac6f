// A vocab.txt, and a tokenizer made of it.
#include "fuzz.h"
#include "trainer/text/tokenizer.h"

FUZZ_TARGET(vocabulary) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    Tokenizer tokenizer(Vocabulary::parse(bp::test::text_of(data, size), "input"));
    std::vector<std::int32_t> ids;
    tokenizer.encode("Anything at all, [SEP] 42 \xc3\xa9t\xc3\xa9 \xe4\xb8\xad", ids);
  });
  return 0;
}
