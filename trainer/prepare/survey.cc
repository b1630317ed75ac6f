#include "trainer/prepare/survey.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/prepare/source_rows.h"

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

Survey survey(const Plan& plan, TextRows texts, bool lists) {
  Survey survey;
  survey.texts.emplace(std::move(texts));
  Findings found(lists);
  const std::unique_ptr<RowFinder> finder = plan.options.task->make_finder(plan, found);
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    std::int64_t rows = 0;
    survey.texts->begin_source();
    for (SourceRows reader(plan, plan.sources[i]); reader.next(); ++rows) {
      const RowVerdict verdict = finder->add(reader, i);
      if (plan.options.stratify && i == 0) survey.strata.add(verdict.stratum);
      if (verdict.kept) {
        survey.texts->add(reader.text());
      } else {
        survey.texts->leave_out();
        survey.left_out.insert(survey.all_rows + rows);
      }
    }
    if (rows > 0) {
      finder->end_source(i, rows);
    } else {
      const auto& layout = plan.sources[i].layout();
      const bool header = layout && layout->header;
      found.add(i, {.text = concat(plan.sources[i].name,
                                   header ? " has a header but no rows" : " has no rows"),
                    .hint = header ? "see --header, if its first line is a row"
                                   : "name a file with samples"});
    }
    survey.rows.push_back(rows);
    survey.all_rows += rows;
    if (lists) survey.of_sources.push_back(found.complete(i, finder->of_source(i)));
  }
  survey.names = finder->names();
  survey.remarks = finder->remarks();
  if (lists) survey.of_all = finder->of_all();
  survey.obstacle = found.obstacle();
  return survey;
}

ChosenRows::ChosenRows(const Plan& plan, Survey& survey) : plan_(plan) {
  RowSet dropped = survey.left_out;
  if (plan.options.dedupe) dropped.insert(survey.texts->repeats());
  repeats_ = dropped.size() - survey.left_out.size();
  kept_ = KeptRows(survey.rows, std::move(dropped));
  for (std::size_t source = 0; source < plan.sources.size() && plan.options.dedupe; ++source) {
    if (kept_.counts()[source] == 0 && survey.rows[source] > 0) {
      throw InputError(65, concat("--dedupe leaves no row of ", plan.sources[source].name),
                       "all its texts are in a dev or test file too: leave out --dedupe, or "
                       "name other files");
    }
  }
  splits_ = divide_rows(plan, kept_, survey.strata);
}

bool ChosenRows::trains(std::int64_t row) const {
  const std::int64_t place = kept_.place(0, row);
  return place > 0 && split_of(0, place) == Split::train;
}

TextRows::Findings ChosenRows::repeats_in(TextRows& texts) const {
  return texts.findings([this](std::size_t source, std::int64_t row) {
    return split_of(source, kept_.place(source, row));
  });
}

std::optional<RowSplits> divide_rows(const Plan& plan, const KeptRows& kept, Strata& strata) {
  const PrepareOptions& options = plan.options;
  if (!plan.divided) return std::nullopt;
  if (!plan.file_split.of_rows.empty()) return divide_as_file(plan, kept);
  if (!options.stratify) return RowSplits(kept.counts().front(), options.split, options.seed);
  strata.keep_if([&](std::int64_t row) { return kept.place(0, row) > 0; });
  return RowSplits(strata, options.split, options.seed);
}

}  // namespace bp::trainer
