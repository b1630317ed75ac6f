#include "trainer/data/survey.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/label_form.h"
#include "trainer/data/label_set.h"
#include "trainer/data/source_rows.h"

namespace bp::trainer {
namespace {

void check_label(const Plan& plan,
                 const SourceFile& source,
                 const SourceRows& rows,
                 const std::vector<std::string>& labels) {
  const SourceRow& row = rows.row();
  if (row.label.empty() && source.split == Split::test) {
    return;
  }
  if (row.label.empty()) {
    throw InputError(
        65, concat(rows.place(), ": has no label"),
        concat(source.layout.label_name(), " is empty there; remove the row or label it"));
  }
  if (source.split == Split::train ||
      std::find(labels.begin(), labels.end(), row.label) != labels.end()) {
    return;
  }
  const std::string nearest = nearest_name(row.label, labels);
  throw InputError(
      65,
      concat(rows.place(), ": label '", row.label, "' is not among those ",
             plan.options.labels.empty() ? "in " + plan.sources[0].path : "of the model", ": ",
             shown_labels(labels)),
      nearest.empty() ? "is --label the right column, and has the file a header? see --header"
                      : concat("did you mean '", nearest, "'?"));
}

// Refuses a column of free text as the label: each row would be a class.
void check_labels(const SourceFile& source, std::size_t labels, std::int64_t rows) {
  constexpr std::size_t kMany = 1000;
  if (labels > kMany && 2 * static_cast<std::int64_t>(labels) > rows) {
    throw InputError(
        65, concat(source.path, " has ", labels, " different labels in ", rows, " rows"),
        concat(source.layout.label_name(),
               " is not a label; name the right one with --label, or round labels that "
               "are numbers with --round-labels"));
  }
}

std::string remark_on_blanks(const std::vector<std::string>& labels) {
  std::map<std::string_view, const std::string*> seen;
  std::string first;
  std::int64_t pairs = 0;
  for (const std::string& label : labels) {
    const auto [other, is_new] = seen.emplace(trimmed_label(label), &label);
    if (is_new) continue;
    if (pairs++ == 0) first = concat("the labels '", *other->second, "' and '", label, "'");
  }
  if (pairs == 0) return "";
  return concat(first,
                pairs == 1   ? ""
                : pairs == 2 ? " and another pair"
                             : concat(" and ", pairs - 1, " other pairs"),
                " differ only by blanks around them, and are different classes; --trim-labels "
                "--rebuild makes them one");
}

std::string remark_on_many(const SourceFile& source,
                           const std::vector<std::string>& labels,
                           std::int64_t rows) {
  constexpr std::size_t kFew = 20;
  if (labels.size() <= kFew || 2 * static_cast<std::int64_t>(labels.size()) <= rows) return "";
  const bool fractions =
      std::all_of(labels.begin(), labels.end(), [](const auto& l) { return label_number(l); }) &&
      std::any_of(labels.begin(), labels.end(),
                  [](const auto& l) { return std::trunc(*label_number(l)) != *label_number(l); });
  return concat(source.layout.label_name(), " of ", source.path, " has ", labels.size(),
                fractions ? " different numbers" : " different labels", " in ", rows,
                " rows, and each is a class by itself; ",
                fractions ? "--round-labels --rebuild rounds them, " : "",
                "--label names another column");
}

}  // namespace

Survey survey(const Plan& plan) {
  Survey survey;
  survey.labels = plan.options.labels;
  survey.texts.emplace(std::filesystem::path(plan.store).parent_path().string());
  for (const SourceFile& source : plan.sources) {
    LabelSet labels;
    std::int64_t rows = 0;
    survey.texts->begin_source();
    for (SourceRows reader(plan, source); reader.next(); ++rows) {
      check_label(plan, source, reader, survey.labels);
      if (source.split == Split::train) {
        labels.add(reader.row().label);
      }
      survey.texts->add(reader.row().text);
    }
    if (rows == 0) {
      throw InputError(65, concat(source.path, " has a header but no rows"),
                       "see --header, if its first line is a row");
    }
    if (source.split == Split::train) {
      survey.labels = labels.sorted();
      check_labels(source, survey.labels.size(), rows);
    }
    survey.rows.push_back(rows);
    survey.all_rows += rows;
  }
  return survey;
}

std::vector<std::string> remarks_on_labels(const Plan& plan, const Survey& survey) {
  if (plan.sources.front().split != Split::train) return {};
  std::vector<std::string> remarks = {
      remark_on_blanks(survey.labels),
      remark_on_many(plan.sources.front(), survey.labels, survey.rows.front())};
  std::erase(remarks, "");
  return remarks;
}

}  // namespace bp::trainer
