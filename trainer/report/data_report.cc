#include "trainer/report/data_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kNameWidth = 24;
constexpr std::size_t kMostLabels = 20;
constexpr std::size_t kLongestLabel = 20;

std::string line(const std::string& name, const std::string& text) {
  const std::size_t width = code_points(name);
  return concat(name, std::string(width < kNameWidth ? kNameWidth - width : 1, ' '), text, '\n');
}

std::string counted(std::int64_t n, const char* singular) {
  return concat(with_commas(n), ' ', singular, n == 1 ? "" : "s");
}

std::string percent(std::int64_t part, std::int64_t whole) {
  constexpr double kPercent = 100;
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  return fixed(kPercent * share, 1) + " %";
}

std::string found_text(const RowsFound& found) {
  return found.count == 0 ? "0" : concat(with_commas(found.count), ", the first: ", found.first);
}

std::string file_lines(const FileFindings& file, bool to_train_on) {
  std::string text = line(file.path, counted(file.rows, "row"));
  text += line("  empty texts", found_text(file.empty));
  text += line("  without a label", found_text(file.unlabelled));
  if (!to_train_on) text += line("  with another label", found_text(file.unknown));
  return text;
}

std::string label_lines(const DataFindings& found) {
  std::int64_t rows = 0;
  for (const auto& [label, count] : found.labels) rows += count;
  std::string text = line("labels", with_commas(static_cast<std::int64_t>(found.labels.size())));
  std::int64_t left = rows;
  for (std::size_t i = 0; i < std::min(kMostLabels, found.labels.size()); ++i) {
    const auto& [label, count] = found.labels[i];
    text += line("  " + shortened(repaired_utf8(label), kLongestLabel),
                 concat(counted(count, "row"), ", ", percent(count, rows)));
    left -= count;
  }
  if (found.labels.size() > kMostLabels) {
    text += line("  others", concat(counted(left, "row"), ", ", percent(left, rows)));
  }
  return text;
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

std::string length_lines(const DataFindings& found, const PrepareOptions& options) {
  constexpr int kMarks = 2;  // [CLS] and [SEP]
  const std::int64_t window = options.max_length - kMarks;
  std::int64_t texts = 0;
  std::int64_t longer = 0;
  for (const auto& [length, count] : found.lengths) {
    texts += count;
    if (length > window) longer += count;
  }
  const std::int64_t longest = found.lengths.empty() ? 0 : std::prev(found.lengths.end())->first;
  const bool folds = options.long_text == LongText::fold;
  return line("tokens", concat(with_commas(found.tokens), ", of them unknown ",
                               percent(found.unknown_tokens, found.tokens), "; a vocabulary of ",
                               with_commas(found.vocabulary))) +
         line("  in half of the texts", concat("at most ", quantile(found, texts, 0.5))) +
         line("  in 95 %, 99 %", concat("at most ", quantile(found, texts, 0.95), ", ",
                                        quantile(found, texts, 0.99))) +
         line("  in the longest", concat(longest)) +
         line(concat("  over ", window),
              longer == 0 ? "0"
                          : concat(counted(longer, "text"), ", ", percent(longer, texts),
                                   folds ? ": folded into several samples" : ": cut off",
                                   " by --max-length ", options.max_length));
}

}  // namespace

std::string data_report(const DataFindings& found, const Plan& plan) {
  std::string text;
  std::int64_t rows = 0;
  for (const FileFindings& file : found.files) {
    text += file_lines(file, &file == &found.files.front());
    rows += file.rows;
  }
  text += line("splits", concat(with_commas(found.rows[0]), " train, ", with_commas(found.rows[1]),
                                " dev, ", with_commas(found.rows[2]), " test"));
  const TextRows::Findings& repeats = found.repeats;
  text += line("repeated texts",
               concat(with_commas(repeats.repeated), ", ", percent(repeats.repeated, rows),
                      repeats.repeated > 0 ? "; --dedupe keeps each once" : ""));
  text += line("  also in train", concat(with_commas(repeats.dev_in_train), " of dev, ",
                                         with_commas(repeats.test_in_train), " of test"));
  text += label_lines(found) + length_lines(found, plan.options);
  text.pop_back();
  return text;
}

Obstacle obstacle_to_training(const DataFindings& found, const Plan& plan) {
  for (std::size_t i = 0; i < found.files.size(); ++i) {
    const FileFindings& file = found.files[i];
    if (file.rows == 0) return {concat(file.path, " has no rows"), "see --header"};
    if (file.unlabelled.count > 0 && plan.sources[i].split != Split::test) {
      return {concat(counted(file.unlabelled.count, "row"),
                     " without a label, the first: ", file.unlabelled.first),
              "remove or label them; only a file for --test may have such rows"};
    }
    if (file.unknown.count > 0) {
      return {concat(counted(file.unknown.count, "row"), " with a label that ",
                     found.files.front().path, " lacks, the first: ", file.unknown.first),
              "is --label the right column?"};
    }
  }
  if (found.labels.size() == 1) {
    return {concat("all rows have the same label, '", found.labels.front().first, "'"),
            "there is nothing to learn; is --label the right column?"};
  }
  return {};
}

}  // namespace bp::trainer
