#include "trainer/tasks/classify/token_samples.h"

#include <string_view>
#include <utility>

#include "base/options/value_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/tasks/classify/list_literal.h"
#include "trainer/tasks/classify/token_file.h"

namespace bp::trainer {
namespace {

constexpr const char* kSamplesTable = "Samples";
constexpr const char* kLabelsTable = "LabelEncodings";

using Labels = std::unordered_map<std::int64_t, std::string>;

Labels read_labels(SQLite::Database& database, const std::string& path) {
  Labels labels;
  std::int64_t row = 0;
  const auto refuse = [&](const char* what) {
    refuse_token_file(path, concat(", table ", kLabelsTable, ", row ", row, ": ", what));
  };
  require_token_table(database, path, kLabelsTable);
  read_token_table(path, kLabelsTable, [&] {
    SQLite::Statement select(database, concat("SELECT key_col, val_col FROM ", kLabelsTable));
    for (row = 1; select.executeStep(); ++row) {
      const auto code = number_in<std::int64_t>(select.getColumn(0).getString());
      const std::string label = select.getColumn(1).getString();
      if (!code) refuse("key_col is not a whole number");
      if (label.empty()) refuse("val_col is empty");
      if (find_invalid_utf8(label) != std::string_view::npos) refuse("val_col is not UTF-8");
      if (!labels.emplace(*code, label).second) refuse("key_col comes twice");
    }
  });
  return labels;
}

const char* kind_of(const SQLite::Column& column) {
  if (column.isNull()) return "NULL";
  if (column.isInteger()) return "an integer";
  if (column.isFloat()) return "a real number";
  return column.isText() ? "text" : "a blob";
}

}  // namespace

TokenSamples::TokenSamples(const std::string& path)
    : path_(path), database_(open_token_file(path)), labels_(read_labels(database_, path)) {
  require_token_table(database_, path_, kSamplesTable);
  read_token_table(path_, kSamplesTable, [&] {
    select_.emplace(database_, concat("SELECT sample_id, tok_ids, label FROM ", kSamplesTable,
                                      " ORDER BY sample_id"));
  });
}

bool TokenSamples::next() {
  bool found = false;
  read_token_table(path_, kSamplesTable, [&] {
    found = select_->executeStep();
    if (!found && rows_ == 0) refuse("", "has no rows");
    if (found) take();
  });
  return found;
}

// Sets the current sample to the row. A damaged page that refers to itself would never end; the ids
// then come again.
void TokenSamples::take() {
  const SQLite::Column id = select_->getColumn(0);
  if (!id.isInteger()) {
    refuse(concat(", row ", rows_ + 1), concat("sample_id is ", kind_of(id), ", not an integer"));
  }
  const std::int64_t last = std::exchange(sample_id_, id.getInt64());
  if (rows_++ > 0 && sample_id_ <= last) refuse_sample("comes twice, or out of order");
  const SQLite::Column ids = select_->getColumn(1);
  if (!ids.isText()) refuse_sample(concat("tok_ids is ", kind_of(ids), ", not a list"));
  const std::string_view text(ids.getText(), static_cast<std::size_t>(ids.getBytes()));
  if (const std::string problem = parse_list_literal(text, ids_); !problem.empty()) {
    refuse_sample("tok_ids " + problem);
  }
  while (!ids_.empty() && ids_.back() == 0) ids_.pop_back();
  const SQLite::Column label = select_->getColumn(2);
  if (!label.isInteger()) refuse_sample(concat("label is ", kind_of(label), ", not an integer"));
  code_ = label.getInt64();
}

void TokenSamples::refuse_sample(const std::string& what) const {
  refuse(concat(", sample_id ", sample_id_), what);
}

void TokenSamples::refuse(const std::string& row, const std::string& what) const {
  refuse_token_file(path_, concat(", table ", kSamplesTable, row, ": ", what));
}

std::string TokenSamples::place() const { return concat(path_, ", sample_id ", sample_id_); }

const std::string& TokenSamples::label() const {
  static const std::string kNone;
  const auto found = labels_.find(code_);
  return found == labels_.end() ? kNone : found->second;
}

}  // namespace bp::trainer
