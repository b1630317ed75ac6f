// A model's tokenizer_config.json. An accepted file must be the same after it is written and read
// again.
#include "trainer/model/files/tokenizer_config.h"

#include <cstdlib>

#include "fuzz.h"

FUZZ_TARGET(tokenizer_config) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const TokenizerConfig config = parse_tokenizer_config(bp::test::text_of(data, size));
    const auto again =
        bp::test::read_own([&] { return parse_tokenizer_config(tokenizer_config_json(config)); });
    if (again != config) std::abort();
  });
  return 0;
}
