// Words that a user writes for a shell (--ssh), and any word as bp quotes it for one.
#include "launcher/process/shell_words.h"

#include <cstdlib>

#include "fuzz.h"

FUZZ_TARGET(shell_words) {
  using namespace bp::launcher;
  const std::string text = bp::test::text_of(data, size);
  bp::test::read_anything([&] {
    const std::vector<std::string> words = split_shell_words(text);
    const std::string written = quote_shell_words(words);
    if (bp::test::read_own([&] { return split_shell_words(written); }) != words) std::abort();
  });
  const std::vector<std::string> one = {text};
  const std::string written = quote_shell_word(text);
  if (bp::test::read_own([&] { return split_shell_words(written); }) != one) std::abort();
  return 0;
}
