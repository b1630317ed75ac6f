#include "trainer/tasks/classify/class_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/class_survey.h"
#include "trainer/tasks/classify/label_naming.h"
#include "trainer/tasks/classify/row_labels.h"
#include "trainer/tasks/classify/token_rows.h"

namespace bp::trainer {
namespace {

class ClassCheck : public RowCheck {
 public:
  ClassCheck(const Plan& plan, const ClassOptions& options)
      : plan_(plan),
        options_(options),
        naming_(options, plan.options.encoding),
        row_(options, naming_),
        files_(plan.sources.size()) {
    for (const std::string& name : naming_.classes()) labels_[name] = 0;
  }

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    File& file = files_[source];
    ++file.rows;
    if (is_unnamed(rows.fields())) {
      (skips() ? file.unknown : unnamed_).add(place);
      return {.kept = !skips()};
    }
    if (!row_.read(rows.fields().back())) {
      (skips() ? file.unknown : not_numbers_).add(place);
      return {.kept = !skips()};
    }
    if (row_.names().empty()) file.unlabelled.add(place);
    for (const std::string& label : row_.names()) {
      if (is_class(label, source)) continue;
      file.unknown.add(place);
      return {.kept = !skips()};
    }
    if (source == 0) count_labels();
    ++file.kept;
    return {.stratum = row_.stratum()};
  }

  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    std::vector<Line> lines = {{"  without a label", files_[source].unlabelled.text()}};
    if (source > 0 || given()) {
      lines.emplace_back("  with another label",
                         files_[source].unknown.text() + (skips() ? "; left out" : ""));
    }
    return lines;
  }

  [[nodiscard]] std::vector<Line> of_all() const override {
    constexpr std::size_t kMostShown = 20;
    constexpr std::size_t kLongest = 20;
    const std::vector<Counted> labels = most_frequent_first();
    std::int64_t all = 0;
    for (const auto& [label, count] : labels) all += count;
    const std::int64_t rows = options_.multi_label ? files_.front().kept : all;
    const auto result = [&](std::int64_t count) {
      return concat(counted(count, "row"), ", ", percent_text(count, rows));
    };
    std::vector<Line> lines = {{"labels", with_commas(static_cast<std::int64_t>(labels.size()))}};
    if (options_.multi_label) lines.emplace_back("labels of a row", labels_of_a_row(all, rows));
    std::int64_t left = all;
    for (std::size_t i = 0; i < std::min(kMostShown, labels.size()); ++i) {
      const auto& [label, count] = labels[i];
      lines.emplace_back("  " + shortened(repaired_utf8(label), kLongest), result(count));
      left -= count;
    }
    if (labels.size() > kMostShown) {
      // One row may have several of them.
      lines.emplace_back("  others",
                         options_.multi_label ? concat(with_commas(left), " times") : result(left));
    }
    return lines;
  }

  [[nodiscard]] Obstacle obstacle() const override {
    if (not_numbers_.count > 0) {
      return {concat(counted(not_numbers_.count, "row"),
                     " with a label that is not a number, the first: ", not_numbers_.first),
              "--round-labels is for labels that are numbers; leave it out, or remove the rows"};
    }
    if (unnamed_.count > 0) {
      return {
          concat(counted(unnamed_.count, "row"),
                 " with a label that the table LabelEncodings lacks, the first: ", unnamed_.first),
          "--unknown-labels skip leaves such rows out"};
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const RowsFound& unlabelled = files_[i].unlabelled;
      const bool to_score = plan_.sources[i].split == Split::test;
      if (options_.multi_label && !to_score && files_[i].kept > 0 &&
          unlabelled.count == files_[i].kept) {
        return {concat("no row of ", plan_.sources[i].name, " has a label"),
                "is --label the right column?"};
      }
      if (!options_.multi_label && unlabelled.count > 0 && !to_score) {
        return {concat(counted(unlabelled.count, "row"),
                       " without a label, the first: ", unlabelled.first),
                "remove or label them; only a file for --test may have such rows"};
      }
      const RowsFound& unknown = files_[i].unknown;
      if (unknown.count > 0 && !skips()) {
        return {concat(counted(unknown.count, "row"), " with a label that ",
                       given() ? "is none of those " + naming_.origin()
                               : plan_.sources.front().name + " lacks",
                       ", the first: ", unknown.first),
                "is --label the right column? --unknown-labels skip leaves such rows out"};
      }
      if (unknown.count > 0 && files_[i].kept == 0) {
        return {concat("no row of ", plan_.sources[i].name, " has one of the labels"),
                "--unknown-labels skip left all rows out; is --label the right column?"};
      }
    }
    if (!given()) {
      const Obstacle free_text =
          too_many_labels(plan_.sources.front(), labels_.size(), files_.front().rows);
      if (!free_text.what.empty()) return free_text;
    }
    if (labels_.size() == 1 && !options_.multi_label) {
      return {concat("all rows have the same label, '", labels_.begin()->first, "'"),
              "there is nothing to learn; is --label the right column?"};
    }
    return {};
  }

 private:
  using Counted = std::pair<std::string, std::int64_t>;

  // A free text taken for the label would fill the memory, so only this number of labels is
  // counted by name.
  static constexpr std::size_t kMostLabels = 1'000'000;

  [[nodiscard]] std::vector<Counted> most_frequent_first() const {
    std::vector<Counted> labels(labels_.begin(), labels_.end());
    std::ranges::sort(labels, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return labels;
  }

  // Of the current row, which is one to train on.
  void count_labels() {
    for (const std::string& label : row_.names()) {
      if (labels_.size() < kMostLabels || labels_.contains(label)) ++labels_[label];
    }
    most_in_row_ = std::max(most_in_row_, row_.names().size());
  }

  [[nodiscard]] std::string labels_of_a_row(std::int64_t labels, std::int64_t rows) const {
    const double mean = rows == 0 ? 0 : static_cast<double>(labels) / static_cast<double>(rows);
    return concat(fixed(mean, 2), " on average, ", most_in_row_, " at most");
  }

  [[nodiscard]] bool skips() const { return options_.skip_unknown; }  // rows with other labels
  // Returns whether the labels are known before the rows are read.
  [[nodiscard]] bool given() const { return !naming_.classes().empty(); }
  [[nodiscard]] bool is_class(const std::string& label, std::size_t source) const {
    return (source == 0 && !given()) || labels_.contains(label);
  }

  struct File {
    RowsFound unlabelled;
    RowsFound unknown;  // with a label that is no class
    std::int64_t rows = 0;
    std::int64_t kept = 0;
  };

  const Plan& plan_;
  const ClassOptions& options_;
  LabelNaming naming_;
  RowLabels row_;  // of the current row
  std::vector<File> files_;
  RowsFound not_numbers_;
  RowsFound unnamed_;                                     // of token files
  std::unordered_map<std::string, std::int64_t> labels_;  // how often each one occurs
  std::size_t most_in_row_ = 0;
};

}  // namespace

std::unique_ptr<RowCheck> make_class_check(const Plan& plan, const ClassOptions& options) {
  return std::make_unique<ClassCheck>(plan, options);
}

}  // namespace bp::trainer
