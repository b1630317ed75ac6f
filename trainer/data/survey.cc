#include "trainer/data/survey.h"

#include <algorithm>

#include "comm/base/nearest.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/label_set.h"

namespace bp::trainer {
namespace {

std::string shown_labels(const std::vector<std::string>& labels) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(labels.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + labels[i];
  }
  return labels.size() > kMost ? concat(text, ", ... (", labels.size(), ")") : text;
}

void check_label(const Plan& plan,
                 const SourceFile& source,
                 const SourceRow& row,
                 const std::vector<std::string>& labels) {
  if (row.label.empty() && source.split == Split::test) {
    return;
  }
  if (row.label.empty()) {
    throw InputError(65, concat(row.reader->place(), ": has no label"),
                     concat("column ", source.layout.label + 1,
                            " is empty there; take the row out or label it"));
  }
  if (source.split == Split::train ||
      std::find(labels.begin(), labels.end(), row.label) != labels.end()) {
    return;
  }
  const std::string nearest = nearest_name(row.label, labels);
  throw InputError(65,
                   concat(row.reader->place(), ": label '", row.label, "' is none of those in ",
                          plan.sources[0].path, ": ", shown_labels(labels)),
                   nearest.empty()
                       ? "is --label the right column, and has the file a header? see --header"
                       : concat("did you mean '", nearest, "'?"));
}

// A column of free text taken for the label would make a class of every row.
void check_labels(const SourceFile& source, std::size_t labels, std::int64_t rows) {
  constexpr std::size_t kMany = 1000;
  if (labels > kMany && 2 * static_cast<std::int64_t>(labels) > rows) {
    throw InputError(65,
                     concat(source.path, " has ", labels, " different labels in ", rows, " rows"),
                     concat("column ", source.layout.label + 1,
                            " is no label; name the right one with --label"));
  }
}

}  // namespace

void for_each_row(const SourceFile& source, const std::function<void(const SourceRow&)>& row) {
  TableReader reader(source.path, source.layout.dialect());
  while (reader.next()) {
    if (reader.row() > 0) {
      const auto& fields = reader.fields();
      row({reader.row(), fields[source.layout.text], fields[source.layout.label], &reader});
    }
  }
}

Survey survey(const Plan& plan) {
  Survey survey;
  for (const SourceFile& source : plan.sources) {
    LabelSet labels;
    std::int64_t rows = 0;
    for_each_row(source, [&](const SourceRow& row) {
      check_label(plan, source, row, survey.labels);
      if (source.split == Split::train) {
        labels.add(row.label);
      }
      ++rows;
    });
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

}  // namespace bp::trainer
