// RoBERTa's vocab.json and merges.txt, separated by a zero byte, and a tokenizer made of them.
#include "fuzz.h"
#include "trainer/text/roberta_files.h"
#include "trainer/text/tokenizer.h"

FUZZ_TARGET(merges) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const std::string both = bp::test::text_of(data, size);
    const std::size_t end = both.find('\0');
    const std::string merges = end == std::string::npos ? "" : both.substr(end + 1);
    const std::string json = roberta_json(both.substr(0, end), merges, "vocab.json");
    const Vocabulary vocabulary = Vocabulary::parse(json, "tokenizer.json");
    bp::test::require(roberta_files(json).size() == 2);
    Tokenizer tokenizer(vocabulary);
    std::vector<std::int32_t> ids;
    tokenizer.encode("Anything at all, <mask></s> 42 aaaaab \xc3\xa9t\xc3\xa9 \xe4\xb8\xad", ids);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= static_cast<std::int32_t>(vocabulary.tokens.size())) std::abort();
    }
  });
  return 0;
}
