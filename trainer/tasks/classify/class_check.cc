#include "trainer/tasks/classify/class_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_naming.h"

namespace bp::trainer {
namespace {

class ClassCheck : public RowCheck {
 public:
  ClassCheck(const Plan& plan, const ClassOptions& options)
      : plan_(plan),
        skips_(options.skip_unknown),
        naming_(options, plan.options.encoding),
        files_(plan.sources.size()) {
    for (const std::string& name : naming_.classes()) labels_[name] = 0;
  }

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    label_ = naming_.name_of(rows.fields().back());
    const std::optional<std::string>& label = label_;
    File& file = files_[source];
    if (!label) {
      (skips_ ? file.unknown : not_numbers_).add(place);
      return {.kept = !skips_};
    }
    if (label->empty()) {
      file.unlabelled.add(place);
    } else if (!is_class(*label, source)) {
      file.unknown.add(place);
      return {.kept = !skips_};
    } else if (source == 0) {
      if (labels_.size() < kMostLabels || labels_.contains(*label)) ++labels_[*label];
    }
    ++file.kept;
    return {.stratum = *label};
  }

  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    std::vector<Line> lines = {{"  without a label", files_[source].unlabelled.text()}};
    if (source > 0 || given()) {
      lines.emplace_back("  with another label",
                         files_[source].unknown.text() + (skips_ ? "; left out" : ""));
    }
    return lines;
  }

  [[nodiscard]] std::vector<Line> of_all() const override {
    constexpr std::size_t kMostShown = 20;
    constexpr std::size_t kLongest = 20;
    const std::vector<Counted> labels = most_frequent_first();
    std::int64_t rows = 0;
    for (const auto& [label, count] : labels) rows += count;
    const auto result = [&](std::int64_t count) {
      return concat(counted(count, "row"), ", ", percent_text(count, rows));
    };
    std::vector<Line> lines = {{"labels", with_commas(static_cast<std::int64_t>(labels.size()))}};
    std::int64_t left = rows;
    for (std::size_t i = 0; i < std::min(kMostShown, labels.size()); ++i) {
      const auto& [label, count] = labels[i];
      lines.emplace_back("  " + shortened(repaired_utf8(label), kLongest), result(count));
      left -= count;
    }
    if (labels.size() > kMostShown) lines.emplace_back("  others", result(left));
    return lines;
  }

  [[nodiscard]] Obstacle obstacle() const override {
    if (not_numbers_.count > 0) {
      return {concat(counted(not_numbers_.count, "row"),
                     " with a label that is not a number, the first: ", not_numbers_.first),
              "--round-labels is for labels that are numbers; leave it out, or remove the rows"};
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const RowsFound& unlabelled = files_[i].unlabelled;
      if (unlabelled.count > 0 && plan_.sources[i].split != Split::test) {
        return {concat(counted(unlabelled.count, "row"),
                       " without a label, the first: ", unlabelled.first),
                "remove or label them; only a file for --test may have such rows"};
      }
      const RowsFound& unknown = files_[i].unknown;
      if (unknown.count > 0 && !skips_) {
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
    if (labels_.size() == 1) {
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

  // Returns whether the labels are known before the rows are read.
  [[nodiscard]] bool given() const { return !naming_.classes().empty(); }
  [[nodiscard]] bool is_class(const std::string& label, std::size_t source) const {
    return (source == 0 && !given()) || labels_.contains(label);
  }

  struct File {
    RowsFound unlabelled;
    RowsFound unknown;  // with a label that is no class
    std::int64_t kept = 0;
  };

  const Plan& plan_;
  bool skips_;  // rows with other labels
  LabelNaming naming_;
  std::vector<File> files_;
  std::optional<std::string> label_;  // of the current row
  RowsFound not_numbers_;
  std::unordered_map<std::string, std::int64_t> labels_;
};

}  // namespace

std::unique_ptr<RowCheck> make_class_check(const Plan& plan, const ClassOptions& options) {
  return std::make_unique<ClassCheck>(plan, options);
}

}  // namespace bp::trainer
