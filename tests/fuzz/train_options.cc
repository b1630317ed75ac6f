// The words of bert_train's command line, one per line. They must give options, or an error with a
// text.
#include <cstdlib>
#include <sstream>
#include <variant>

#include "fuzz.h"
#include "input_file.h"
#include "trainer/commands/command_line.h"

FUZZ_TARGET(train_options) {
  using namespace bp::trainer;
  std::istringstream text(bp::test::text_of(data, size));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word); words.push_back(word)) {
    // a file of this machine; config_file.cc tests such files
    if (word.starts_with("--config")) return 0;
  }
  try {
    const CommandLine line = parse_command_line(words);
    const auto* const training = std::get_if<TrainOptions>(&line.options);
    if (line.instead.empty() && training != nullptr && training->settings.empty()) std::abort();
  } catch (const InputError& refusal) {
    if (std::string(refusal.what()).empty()) std::abort();
  }
  return 0;
}
