#include "trainer/tasks/regress/regress_survey.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

const std::string kSameTarget = "there is nothing to learn; is --target the right column?";

class RegressSurvey : public RowSurvey {
 public:
  explicit RegressSurvey(const Plan& plan) : plan_(plan) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const std::string_view written = rows.fields().back();
    const SourceFiles& file = plan_.sources[source];
    const std::string column = rows.layout()->answer_name();
    if (without_blanks(written).empty()) {
      if (file.split == Split::test) return {};
      throw InputError(65, concat(rows.place(), ": has no target"),
                       concat(column, " is empty there; remove the row or give its number"));
    }
    const std::optional<double> target = written_number(written);
    if (!target) {
      throw InputError(65, concat(rows.place(), ": target '", written, "' is not a number"),
                       concat("is ", column,
                              " the right one? --target names another; --task "
                              "classify learns labels"));
    }
    if (file.split == Split::train) {
      least_ = std::min(least_, *target);
      most_ = std::max(most_, *target);
    }
    return {};
  }

  void end_source(std::size_t source, std::int64_t /*rows*/) override {
    const SourceFiles& file = plan_.sources[source];
    if (file.split != Split::train || least_ < most_) return;
    throw InputError(65, concat("all targets of ", file.name, " are ", brief(least_)), kSameTarget);
  }

  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return {}; }

 private:
  const Plan& plan_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

class RegressCheck : public RowCheck {
 public:
  explicit RegressCheck(const Plan& plan) : plan_(plan), files_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    const std::string_view written = rows.fields().back();
    File& file = files_[source];
    if (without_blanks(written).empty()) {
      file.missing.add(place);
    } else if (const std::optional<double> target = written_number(written)) {
      if (source == 0) targets_.push_back(*target);
    } else {
      file.wrong.add(place);
    }
    return {};
  }

  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    return {{"  without a target", files_[source].missing.text()},
            {"  target is no number", files_[source].wrong.text()}};
  }

  [[nodiscard]] std::vector<Line> of_all() const override {
    if (targets_.empty()) return {};
    std::vector<double> sorted = targets_;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return brief(
          sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
    };
    return {{"targets", concat(at(0), " to ", at(1))},
            {"  half of them", concat("between ", at(0.25), " and ", at(0.75))},
            {"  median", at(0.5)}};
  }

  [[nodiscard]] Obstacle obstacle() const override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const File& file = files_[i];
      if (file.wrong.count > 0) {
        return {concat(counted(file.wrong.count, "row"),
                       " with a target that is not a number, the first: ", file.wrong.first),
                "is --target the right column?"};
      }
      if (file.missing.count > 0 && plan_.sources[i].split != Split::test) {
        return {concat(counted(file.missing.count, "row"),
                       " without a target, the first: ", file.missing.first),
                "remove them or give their numbers; only a file for --test may have such rows"};
      }
    }
    if (!targets_.empty() && std::ranges::min(targets_) == std::ranges::max(targets_)) {
      return {concat("all targets are ", brief(targets_.front())), kSameTarget};
    }
    return {};
  }

 private:
  struct File {
    RowsFound missing;
    RowsFound wrong;
  };

  const Plan& plan_;
  std::vector<File> files_;
  std::vector<double> targets_;  // of the file to train on
};

}  // namespace

std::unique_ptr<RowSurvey> make_regress_survey(const Plan& plan) {
  return std::make_unique<RegressSurvey>(plan);
}
std::unique_ptr<RowCheck> make_regress_check(const Plan& plan) {
  return std::make_unique<RegressCheck>(plan);
}

}  // namespace bp::trainer
