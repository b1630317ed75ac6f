#include "trainer/commands/results.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/nearest.h"
#include "base/output_place.h"
#include "base/quoted.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/report/lengths_section.h"

namespace bp::trainer {

std::optional<Split> judged_split(const SampleStore& store) {
  for (const Split split : {Split::test, Split::dev}) {
    if (store.size(split) > 0) return split;
  }
  return std::nullopt;
}

Split chosen_split(const std::string& name, const SampleStore& store) {
  if (name.empty()) {
    return judged_split(store).value_or(Split::train);
  }
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    if (name != name_of(split)) continue;
    if (store.size(split) > 0) return split;
    throw InputError(65, concat("the data has no ", name, " samples"),
                     "choose another split with --on");
  }
  throw InputError(2, concat("--on: '", name, "' is none of train|dev|test"),
                   concat("did you mean '", nearest_name(name, {"train", "dev", "test"}), "'?"));
}

void require_writable(const std::string& file, const std::string& option) {
  if (file.empty()) return;
  const std::string problem = output_problem(file);
  if (problem.empty()) return;
  throw InputError(2, concat(option, ": cannot write ", file, ": ", problem),
                   "name a file in a folder that exists and that you may write to");
}

void print_text(const std::string& text) {
  std::fputs(printable(text).c_str(), stdout);
  std::fflush(stdout);
}

void print_line(const std::string& text) { print_text(text + '\n'); }

// A task with a value for each token scores these.
std::int64_t scored_texts(const SampleStore& store, Split split) {
  const SampleSchema& schema = store.schema();
  const bool of_tokens =
      schema.empty() || std::ranges::count(schema, Shape::per_token, &ArrayField::shape) > 0;
  return of_tokens ? store.size(split) : store.texts(split);
}

void print_results(const Scorer& scorer,
                   const ScoredSplit& scored,
                   const std::string& predictions) {
  for (const std::string& line : scorer.lines(scored.name, predictions)) print_line(line);
  const std::string folded = folded_text(scored.name, scored.store.size(scored.split),
                                         scored_texts(scored.store, scored.split));
  if (!folded.empty()) print_line(folded);
}

}  // namespace bp::trainer
