// A model's config.json. Each accepted field must be the same after it is written and read again.
#include <cstdlib>

#include "fuzz.h"
#include "trainer/model/config.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const BertConfig config = parse_config(bp::test::text_of(data, size));
    const auto again = bp::test::read_own([&] { return parse_config(config_json(config)); });
    if (again != config) std::abort();
  });
  return 0;
}
