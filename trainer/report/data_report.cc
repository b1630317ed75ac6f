#include "trainer/report/data_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/report/report_table.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

void add_lines(Table& table, const std::vector<Findings::Line>& lines) {
  for (const auto& [name, result] : lines) table.add({name, result});
}

void add_file(Table& table, const FileFindings& file) {
  table.add({file.path, counted(file.rows, "row")});
  table.add({"  empty texts", file.empty.text()});
  add_lines(table, file.task);
}

// Returns the number of tokens that this share of the texts do not exceed.
std::int64_t quantile(const DataFindings& found, std::int64_t texts, double share) {
  std::int64_t seen = 0;
  for (const auto& [length, count] : found.lengths) {
    seen += count;
    if (static_cast<double>(seen) >= share * static_cast<double>(texts)) return length;
  }
  return 0;
}

void add_lengths(Table& table, const DataFindings& found, const PrepareOptions& options) {
  constexpr int kMarks = 2;  // [CLS] and [SEP]
  const std::int64_t window = options.max_length - kMarks;
  std::int64_t texts = 0;
  std::int64_t longer = 0;
  for (const auto& [length, count] : found.lengths) {
    texts += count;
    if (length > window) longer += count;
  }
  const std::int64_t longest = found.lengths.empty() ? 0 : std::prev(found.lengths.end())->first;
  const bool folds = options.long_text != LongText::truncate;
  add_lines(table,
            {{"tokens", concat(with_commas(found.tokens), ", of them unknown ",
                               percent_text(found.unknown_tokens, found.tokens),
                               "; a vocabulary of ", with_commas(found.vocabulary))},
             {"  in half of the texts", concat("at most ", quantile(found, texts, 0.5))},
             {"  in 95 %, 99 %",
              concat("at most ", quantile(found, texts, 0.95), ", ", quantile(found, texts, 0.99))},
             {"  in the longest", concat(longest)},
             {concat("  over ", window),
              longer == 0 ? "0"
                          : concat(counted(longer, "text"), ", ", percent_text(longer, texts),
                                   folds ? ": folded into several samples" : ": cut off",
                                   " by --max-length ", options.max_length)}});
}

}  // namespace

std::string data_report(const DataFindings& found, const Plan& plan) {
  constexpr std::size_t kNameWidth = 23;
  Table table{.columns = {{.width = kNameWidth}, {.left = true}}};
  std::int64_t rows = 0;
  for (const FileFindings& file : found.files) {
    add_file(table, file);
    rows += file.rows;
  }
  const TextRows::Findings& repeats = found.repeats;
  add_lines(table,
            {{"splits", concat(with_commas(found.rows[0]), " train, ", with_commas(found.rows[1]),
                               " dev, ", with_commas(found.rows[2]), " test")},
             {"repeated texts",
              concat(with_commas(repeats.repeated), ", ", percent_text(repeats.repeated, rows),
                     repeats.repeated > 0 ? "; --dedupe keeps each once" : "")},
             {"  also in train", concat(with_commas(repeats.dev_in_train), " of dev, ",
                                        with_commas(repeats.test_in_train), " of test")}});
  add_lines(table, found.task);
  add_lengths(table, found, plan.options);
  for (const std::string& remark : found.remarks) {
    table.add({concat("note: ", remark)}, Table::Row::Kind::heading);
  }
  std::string text = terminal_text(table, {.gap = 1, .ragged = true});
  text.pop_back();
  return text;
}

}  // namespace bp::trainer
