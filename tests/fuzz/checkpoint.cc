// manifest.json and state.json of a checkpoint. An accepted file must be the same after it is
// written and read again.
#include <cstdlib>

#include "fuzz.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/checkpoint/manifest.h"

FUZZ_TARGET(checkpoint) {
  using namespace bp::trainer;
  if (size == 0) return 0;
  const std::string text = bp::test::text_of(data + 1, size - 1);
  bp::test::read_anything([&] {
    const bool manifest = (data[0] & 1U) != 0;
    const auto written = [&](const std::string& json) {
      return manifest ? to_json(parse_manifest(json)) : to_json(parse_state(json));
    };
    const std::string once = written(text);
    if (bp::test::read_own([&] { return written(once); }) != once) std::abort();
  });
  return 0;
}
