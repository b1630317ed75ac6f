// A file that maps labels to classes.
#include "trainer/tasks/classify/label_map.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"

FUZZ_TARGET(label_map) {
  using namespace bp::trainer;
  const std::string text = bp::test::text_of(data, size);
  bp::test::read_input([&] {
    static const bp::test::InputFile file(".csv");
    const std::string& path = file.write(text);
    const LabelMap map(path, "");
    if (map.classes().empty()) std::abort();
    for (const std::string& name : map.classes()) {
      if (name.empty() || bp::find_invalid_utf8(name) != std::string::npos) std::abort();
      if (std::ranges::count(map.classes(), name) != 1) std::abort();
      if (!map.place_of(name).starts_with(path)) std::abort();
    }
  });
  return 0;
}
