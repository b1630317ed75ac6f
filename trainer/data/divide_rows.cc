#include "trainer/data/divide_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

RowSplits divide_as_file(const Plan& plan, const KeptRows& kept) {
  const std::string& name = plan.sources.front().name;
  const auto rows = static_cast<std::size_t>(kept.counts().front());
  std::vector<Split> splits;
  std::int64_t row = 0;
  for (const Split split : plan.file_split.of_rows) {
    if (splits.size() < rows && kept.place(0, ++row) > 0) splits.push_back(split);
  }
  if (splits.size() < rows) {
    throw InputError(65, concat(name, " was changed while it was being prepared"),
                     "start again when no program writes to it");
  }
  if (std::ranges::count(splits, Split::train) == 0) {
    throw InputError(65, concat(name, " has no row to train on, as it divides them itself"),
                     "divide them anew: --split 0.8,0.1,0.1");
  }
  return RowSplits(std::move(splits));
}

}  // namespace

std::optional<RowSplits> divide_rows(const Plan& plan, const KeptRows& kept, Strata& strata) {
  const PrepareOptions& options = plan.options;
  if (!plan.divided) return std::nullopt;
  if (!plan.file_split.of_rows.empty()) return divide_as_file(plan, kept);
  if (!options.stratify) return RowSplits(kept.counts().front(), options.split, options.seed);
  strata.keep_if([&](std::int64_t row) { return kept.place(0, row) > 0; });
  return RowSplits(strata, options.split, options.seed);
}

}  // namespace bp::trainer
