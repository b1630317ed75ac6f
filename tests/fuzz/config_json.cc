// A model's config.json. What is taken must come back from what we write.
#include <cstdlib>

#include "fuzz.h"
#include "trainer/model/config.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const BertConfig config = parse_config(bp::test::text_of(data, size));
    const BertConfig again = parse_config(config_json(config));
    if (again.hidden != config.hidden || again.labels != config.labels) std::abort();
  });
  return 0;
}
