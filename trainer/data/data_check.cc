#include "trainer/data/data_check.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/divide_rows.h"
#include "trainer/data/input_error.h"
#include "trainer/data/kept_rows.h"
#include "trainer/data/make_vocabulary.h"
#include "trainer/data/row_set.h"
#include "trainer/data/source_rows.h"
#include "trainer/data/split.h"
#include "trainer/data/strata.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

// A folder that does not exist matters only for files that need a temporary one.
std::string temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

class DataCheck {
 public:
  DataCheck(const Plan& plan, std::size_t most_in_memory)
      : plan_(plan),
        task_(plan.options.task->make_check(plan)),
        texts_(temporary_folder(), most_in_memory) {}

  DataFindings run(const Say& progress) {
    progress(concat("reading ", plan_.sources.front().name));
    for (std::size_t i = 0; i < plan_.sources.size(); ++i) read(i);
    choose_rows();
    if (!plan_.file_split.remark.empty()) progress(plan_.file_split.remark);
    const auto trains = [this](std::int64_t row) {
      return kept_.place(0, row) > 0 && split_of(0, row) == Split::train;
    };
    const Vocabulary vocabulary = make_vocabulary(plan_, trains, progress);
    found_.vocabulary = static_cast<std::int64_t>(vocabulary.tokens.size());
    Tokenizer tokenizer(vocabulary, plan_.options.lower_case);
    for (std::size_t i = 0; i < plan_.sources.size(); ++i) measure(i, tokenizer);
    found_.repeats = texts_.findings(
        [this](std::size_t source, std::int64_t row) { return split_of(source, row); });
    found_.task = task_->of_all();
    found_.obstacle = task_->obstacle();
    for (const FileFindings& file : found_.files) {
      if (file.rows == 0) found_.obstacle = {concat(file.path, " has no rows"), "see --header"};
    }
    return std::move(found_);
  }

 private:
  // `row` is one of the kept ones.
  [[nodiscard]] Split split_of(std::size_t source, std::int64_t row) const {
    return splits_ ? splits_->of(kept_.place(source, row)) : plan_.sources[source].split;
  }

  // Finds which rows are kept, and which repeat others.
  void read(std::size_t index) {
    FileFindings& file = found_.files.emplace_back();
    file.path = plan_.sources[index].name;
    texts_.begin_source();
    for (SourceRows rows(plan_, plan_.sources[index]); rows.next(); ++file.rows) {
      const RowVerdict verdict = task_->add(rows, index);
      if (plan_.options.stratify && index == 0) strata_.add(verdict.stratum);
      if (verdict.kept) {
        texts_.add(rows.text());
      } else {
        texts_.leave_out();
        left_out_.insert(all_rows_ + file.rows);
      }
    }
    all_rows_ += file.rows;
    file.task = task_->of_source(index);
  }

  void choose_rows() {
    std::vector<std::int64_t> rows;
    for (const FileFindings& file : found_.files) rows.push_back(file.rows);
    kept_ = KeptRows(std::move(rows), std::move(left_out_));
    splits_ = divide_rows(plan_, kept_, strata_);
  }

  // Finds the splits and the lengths of the kept rows.
  void measure(std::size_t index, Tokenizer& tokenizer) {
    FileFindings& file = found_.files[index];
    for (SourceRows rows(plan_, plan_.sources[index]); rows.next();) {
      if (kept_.place(index, rows.number()) == 0) continue;
      ++found_.rows[static_cast<std::size_t>(split_of(index, rows.number()))];
      add_length(rows.text(), tokenizer);
      if (ids_.empty()) file.empty.add([&] { return rows.place(); });
    }
  }

  void add_length(std::string_view text, Tokenizer& tokenizer) {
    ids_.clear();
    tokenizer.encode(text, ids_);
    ++found_.lengths[static_cast<std::int64_t>(ids_.size())];
    found_.tokens += static_cast<std::int64_t>(ids_.size());
    found_.unknown_tokens += std::ranges::count(ids_, tokenizer.unknown_id());
  }

  const Plan& plan_;
  std::optional<RowSplits> splits_;
  std::unique_ptr<RowCheck> task_;
  TextRows texts_;
  RowSet left_out_;  // of all sources
  std::int64_t all_rows_ = 0;
  KeptRows kept_;
  Strata strata_;  // of the first source's rows
  std::vector<std::int32_t> ids_;
  DataFindings found_;
};

}  // namespace

DataFindings check_data(const Plan& plan, const Say& progress, std::size_t most_in_memory) {
  try {
    return DataCheck(plan, most_in_memory).run(progress);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    throw InputError(70, error.what(), "set TMPDIR to a folder on a disk with more space");
  }
}

}  // namespace bp::trainer
