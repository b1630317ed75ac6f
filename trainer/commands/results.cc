#include "trainer/commands/results.h"

#include <cstdio>

namespace bp::trainer {

std::optional<Split> judged_split(const SampleStore& store) {
  for (const Split split : {Split::test, Split::dev}) {
    if (store.size(split) > 0) return split;
  }
  return std::nullopt;
}

void print_line(const std::string& text) {
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void print_results(const Scorer& scorer, const std::string& name, const std::string& predictions) {
  for (const std::string& line : scorer.lines(name, predictions)) print_line(line);
}

}  // namespace bp::trainer
