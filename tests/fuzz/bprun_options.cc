// The words of bprun's command line, one a line. They are options that name a program, or a refusal
// with something to say.
#include <cstdlib>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "fuzz.h"
#include "launcher/cli/options.h"
#include "launcher/report/exit_code.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::launcher;
  std::istringstream text(bp::test::text_of(data, size));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word); words.push_back(word)) {
    if (word.starts_with("--check-build")) return 0;  // loads plugins, as a sanitizer forbids
  }
  bp::test::read_anything([&] {
    const auto options = parse_options(words);
    if (const auto* exit = std::get_if<EarlyExit>(&options)) {
      const bool known = exit->code == 0 || exit->code == kExitUsage;
      if (!known || exit->text.empty()) std::abort();
    } else if (const auto& found = std::get<Options>(options); found.program.empty()) {
      if (!found.join) std::abort();  // who joins may leave it to the others
    }
  });
  return 0;
}
