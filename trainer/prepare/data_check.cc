#include "trainer/prepare/data_check.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/prepare/survey.h"
#include "trainer/prepare/task_data.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

// A folder that does not exist matters only for files that need a temporary one.
std::string temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

// Whether one of the texts of a pair is empty, or the only one.
bool lacks_text(const std::vector<Field>& fields, const SourceRows& rows) {
  if (!rows.layout()) return false;  // the fields of another format are not all texts
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].answer && !fields[i].fixed && without_blanks(rows.fields()[i]).empty()) {
      return true;
    }
  }
  return false;
}

// Reads the kept rows as the preparation does after the survey.
class SecondReading {
 public:
  SecondReading(const Plan& plan, const Vocabulary& vocabulary, DataFindings& found)
      : plan_(plan), tokenizer_(vocabulary, plan.options.lower_case), found_(found) {
    found_.vocabulary = static_cast<std::int64_t>(vocabulary.tokens.size());
  }

  // Finds the splits and the lengths of the rows, and the first one of which no samples can be
  // made.
  void run(const ChosenRows& chosen, const std::vector<std::string>& names) {
    const TaskData& task = *plan_.options.task;
    const auto maker = task.make_maker(plan_.options, names, tokenizer_);
    const std::vector<Field> fields = task.fields();
    for (std::size_t i = 0; i < plan_.sources.size(); ++i) {
      RowsFound& empty = found_.files[i].empty;
      for (SourceRows rows(plan_, plan_.sources[i]); rows.next();) {
        const std::int64_t place = chosen.kept().place(i, rows.number());
        if (place == 0) continue;
        ++found_.rows[static_cast<std::size_t>(chosen.split_of(i, place))];
        const bool no_tokens = add_length(rows.text()) == 0;
        if ((no_tokens || lacks_text(fields, rows)) && empty.count++ == 0) {
          empty.first = rows.place();
        }
        if (found_.obstacle.what.empty()) try_to_make(*maker, rows);
      }
    }
    if (found_.obstacle.what.empty()) found_.obstacle = task.nothing_to_learn(names);
  }

 private:
  void try_to_make(SampleMaker& maker, const SourceRows& rows) {
    try {
      maker.make(rows.fields(), [](const auto& /*token_ids*/, const auto& /*arrays*/) {});
    } catch (const InputError& error) {
      found_.obstacle = {concat(rows.place(), ": ", error.what()), error.hint()};
    }
  }

  std::size_t add_length(std::string_view text) {
    ids_.clear();
    tokenizer_.encode(text, ids_);
    ++found_.lengths[static_cast<std::int64_t>(ids_.size())];
    found_.tokens += static_cast<std::int64_t>(ids_.size());
    found_.unknown_tokens += std::ranges::count(ids_, tokenizer_.form().unknown);
    return ids_.size();
  }

  const Plan& plan_;
  Tokenizer tokenizer_;
  DataFindings& found_;
  std::vector<std::int32_t> ids_;
};

DataFindings check(const Plan& plan, TextRows texts, const Say& progress) {
  progress(reading_text(plan));
  Survey known = survey(plan, std::move(texts), true);
  DataFindings found{.task = known.of_all, .obstacle = known.obstacle};
  for (const std::string& remark : known.remarks) {
    found.remarks.push_back(with_rebuild(remark, ""));  // there is no store yet
  }
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    found.files.push_back({.path = plan.sources[i].name,
                           .rows = known.rows[i],
                           .task = std::move(known.of_sources[i])});
  }
  const ChosenRows chosen(plan, known);
  if (!plan.file_split.remark.empty()) progress(plan.file_split.remark);
  const Vocabulary vocabulary = make_vocabulary(
      plan, [&](std::int64_t row) { return chosen.trains(row); }, progress);
  SecondReading(plan, vocabulary, found).run(chosen, known.names);
  found.repeats.repeated = chosen.repeats();
  if (!plan.options.dedupe) found.repeats = chosen.repeats_in(*known.texts);
  return found;
}

}  // namespace

DataFindings check_data(const Plan& plan, const Say& progress, std::size_t most_in_memory) {
  try {
    return check(plan, TextRows(temporary_folder(), most_in_memory), progress);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    throw InputError(70, error.what(), "set TMPDIR to a folder on a disk with more space");
  }
}

}  // namespace bp::trainer
