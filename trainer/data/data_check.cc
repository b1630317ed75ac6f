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
#include "trainer/data/source_rows.h"
#include "trainer/data/split.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/vocabulary_training.h"

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
  DataCheck(const Plan& plan, const Say& progress) : plan_(plan), texts_(temporary_folder()) {
    progress(concat("reading ", plan.options.source));
    count_labels();
    if (plan.split_by_share) {
      shares_.emplace(found_.files.front().rows, plan.options.split, plan.options.seed);
    }
    const Vocabulary vocabulary = make_vocabulary(progress);
    found_.vocabulary = static_cast<std::int64_t>(vocabulary.tokens.size());
    Tokenizer tokenizer(vocabulary, plan.options.lower_case);
    for (std::size_t i = 0; i < plan.sources.size(); ++i) read(i, tokenizer);
    found_.repeats = texts_.findings(
        [this](std::size_t source, std::int64_t row) { return split_of(source, row); });
  }

  [[nodiscard]] DataFindings take() { return std::move(found_); }

 private:
  [[nodiscard]] Split split_of(std::size_t source, std::int64_t row) const {
    return shares_ ? shares_->of(row) : plan_.sources[source].split;
  }

  // Of the file to train on.
  void count_labels() {
    const SourceFile& source = plan_.sources.front();
    FileFindings& file = found_.files.emplace_back();
    file.path = source.path;
    for (SourceRows rows(plan_, source); rows.next(); ++file.rows) {
      if (rows.row().label.empty()) {
        note(file.unlabelled, rows);
      } else if (labels_.size() < kMostLabels || labels_.contains(std::string(rows.row().label))) {
        ++labels_[std::string(rows.row().label)];
      }
    }
    found_.labels.assign(labels_.begin(), labels_.end());
    std::ranges::sort(found_.labels, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
  }

  Vocabulary make_vocabulary(const Say& progress) {
    if (!plan_.options.vocabulary.empty()) {
      try {
        return Vocabulary::read(plan_.options.vocabulary);
      } catch (const Error& error) {
        throw InputError(65, error.what(), "--vocab takes the vocab.txt of a BERT model");
      }
    }
    progress("training a vocabulary");
    VocabularyTrainer trainer(plan_.options.lower_case);
    for (SourceRows rows(plan_, plan_.sources.front()); rows.next();) {
      if (split_of(0, rows.row().number) == Split::train) trainer.add(rows.row().text);
    }
    return trainer.train(plan_.options.vocabulary_size);
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

DataFindings check_data(const Plan& plan, const Say& progress) {
  return DataCheck(plan, progress).take();
}

}  // namespace bp::trainer
