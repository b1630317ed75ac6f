// A model's tokenizer_config.json. What is taken must come back from what we write.
#include "trainer/model/tokenizer_config.h"

#include <cstdlib>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const TokenizerConfig config = parse_tokenizer_config(bp::test::text_of(data, size));
    const TokenizerConfig again = parse_tokenizer_config(tokenizer_config_json(config));
    if (again.lower_case != config.lower_case || again.max_length != config.max_length) {
      std::abort();
    }
  });
  return 0;
}
