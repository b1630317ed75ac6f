// manifest.json and state.json of a checkpoint. What is taken is written the same way again.
#include <cstdlib>

#include "fuzz.h"
#include "trainer/train/checkpoint_state.h"
#include "trainer/train/manifest.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::trainer;
  if (size == 0) return 0;
  const std::string text = bp::test::text_of(data + 1, size - 1);
  bp::test::read_anything([&] {
    std::string once;
    std::string twice;
    if ((data[0] & 1U) != 0) {
      once = to_json(parse_manifest(text));
      twice = to_json(parse_manifest(once));
    } else {
      once = to_json(parse_state(text));
      twice = to_json(parse_state(once));
    }
    if (once != twice) std::abort();
  });
  return 0;
}
