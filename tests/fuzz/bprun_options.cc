// The words of bprun's command line, one per line. They must give options with a program, or an
// error with a text.
#include "launcher/cli/bprun_options.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "fuzz.h"
#include "launcher/report/exit_code.h"

FUZZ_TARGET(bprun_options) {
  using namespace bp::launcher;
  std::istringstream text(bp::test::text_of(data, size));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word); words.push_back(word)) {
    if (word.starts_with("--check-build")) return 0;  // loads plugins, which a sanitizer forbids
  }
  bp::test::read_anything([&] {
    const auto options = parse_options(words);
    if (const auto* exit = std::get_if<EarlyExit>(&options)) {
      const bool known = exit->code == 0 || exit->code == kExitUsage;
      if (!known || exit->text.empty()) std::abort();
    } else if (const auto& found = std::get<Options>(options); found.program.empty()) {
      if (!found.join) std::abort();  // a machine that joins may leave the program to the others
    }
  });
  return 0;
}
