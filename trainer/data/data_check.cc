#include "trainer/data/data_check.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/input_error.h"
#include "trainer/data/make_vocabulary.h"
#include "trainer/data/source_rows.h"
#include "trainer/data/split.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

void note(RowsFound& found, const SourceRows& rows) {
  if (found.count++ == 0) found.first = rows.place();
}

// A free text taken for the label would fill the memory, so only this number of labels is counted
// by name.
constexpr std::size_t kMostLabels = 1'000'000;

// A folder that does not exist matters only for files that need a temporary one.
std::string temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

class DataCheck {
 public:
  DataCheck(const Plan& plan, std::size_t most_in_memory)
      : plan_(plan), texts_(temporary_folder(), most_in_memory) {}

  DataFindings run(const Say& progress) {
    progress(concat("reading ", plan_.options.source));
    count_labels();
    if (plan_.split_by_share) {
      shares_.emplace(found_.files.front().rows, plan_.options.split, plan_.options.seed);
    }
    const auto trains = [this](std::int64_t row) { return split_of(0, row) == Split::train; };
    const Vocabulary vocabulary = make_vocabulary(plan_, trains, progress);
    found_.vocabulary = static_cast<std::int64_t>(vocabulary.tokens.size());
    Tokenizer tokenizer(vocabulary, plan_.options.lower_case);
    for (std::size_t i = 0; i < plan_.sources.size(); ++i) read(i, tokenizer);
    found_.repeats = texts_.findings(
        [this](std::size_t source, std::int64_t row) { return split_of(source, row); });
    return std::move(found_);
  }

 private:
  [[nodiscard]] Split split_of(std::size_t source, std::int64_t row) const {
    return shares_ ? shares_->of(row) : plan_.sources[source].split;
  }

  // Counts rows and labels of the file to train on.
  void count_labels() {
    const SourceFile& source = plan_.sources.front();
    FileFindings& file = found_.files.emplace_back();
    file.path = source.path;
    for (SourceRows rows(plan_, source); rows.next(); ++file.rows) {
      const std::string label(rows.row().label);
      if (label.empty()) {
        note(file.unlabelled, rows);
      } else if (labels_.size() < kMostLabels || labels_.contains(label)) {
        ++labels_[label];
      }
    }
    found_.labels.assign(labels_.begin(), labels_.end());
    std::ranges::sort(found_.labels, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
  }

  void read(std::size_t index, Tokenizer& tokenizer) {
    const SourceFile& source = plan_.sources[index];
    if (index > 0) found_.files.emplace_back().path = source.path;
    FileFindings& file = found_.files[index];
    texts_.begin_source();
    for (SourceRows rows(plan_, source); rows.next();) {
      const SourceRow& row = rows.row();
      texts_.add(row.text);
      ++found_.rows[static_cast<std::size_t>(split_of(index, row.number))];
      add_length(row.text, tokenizer);
      if (ids_.empty()) note(file.empty, rows);
      if (index == 0) continue;  // count_labels() has done the rest
      ++file.rows;
      if (row.label.empty()) {
        note(file.unlabelled, rows);
      } else if (!labels_.contains(std::string(row.label))) {
        note(file.unknown, rows);
      }
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
  std::optional<SplitByShare> shares_;
  std::unordered_map<std::string, std::int64_t> labels_;
  TextRows texts_;
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
