// A model's config.json. Each accepted field must be the same after it is written and read again,
// and so must the part of a classifier's head.
#include <cstdlib>

#include "fuzz.h"
#include "trainer/model/config.h"
#include "trainer/tasks/classify/class_config.h"

FUZZ_TARGET(config_json) {
  using namespace bp::trainer;
  bp::test::read_anything([&] {
    const EncoderSpec config = parse_config(bp::test::text_of(data, size));
    const auto again = bp::test::read_own([&] { return parse_config(config_json(config)); });
    if (again != config) std::abort();
    ClassConfig own = class_config_of(config);
    EncoderSpec written = config;
    written.head = head_of(own);
    if (bp::test::read_own([&] { return class_config_of(written); }) != own) std::abort();
  });
  return 0;
}
