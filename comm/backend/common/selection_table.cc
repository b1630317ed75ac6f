#include "comm/backend/common/selection_table.h"

#include <array>
#include <istream>
#include <ostream>
#include <sstream>
#include <utility>

#include "base/mix.h"
#include "base/number.h"
#include "base/system/regular_file.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(std::move(word));
  return result;
}

bool read_count(const std::string& text, auto& number) {
  return read_number(text, number) && number >= 1;
}

// Returns what is wrong with the words of a line, or an empty text.
std::string read_line(const std::vector<std::string>& words, SelectionKey& key, SelectionRow& row) {
  constexpr std::size_t kWords = 6;
  if (words.size() != kWords) {
    return concat("has ", words.size(),
                  " words, not 6: operation, backend, ranks, hosts, below, algorithm");
  }
  if (words[0] != "all_reduce") {
    return concat("'", words[0], "': only all_reduce can be chosen for");
  }
  key.backend = words[1];
  if (!read_count(words[2], key.ranks)) return concat("'", words[2], "' is not a number of ranks");
  if (!read_count(words[3], key.hosts)) return concat("'", words[3], "' is not a number of hosts");
  row.below = kAllThatIsLonger;
  if (words[4] != "-" && !read_count(words[4], row.below)) {
    return concat("'", words[4], "' is neither a number of bytes nor -");
  }
  // The sizes of the hosts are unknown here. Selection checks the algorithm for one job.
  row.algorithm = parse_algorithm(words[5], std::array{2, 1});
  if (row.algorithm == Algorithm::automatic) return "auto is what the table is to decide";
  return {};
}

}  // namespace

SelectionTable::SelectionTable(std::istream& in, const std::string& name) {
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    Line& next = lines_.emplace_back();
    std::string wrong;
    try {
      wrong = read_line(words, next.key, next.row);
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (wrong.empty()) continue;
    throw Error(ErrorCode::invalid_argument, concat(name, ", line ", number, ": ", wrong));
  }
}

SelectionTable SelectionTable::read(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  const FileContent content = read_whole(open_regular_file(path), kMostBytes);
  if (!content.problem.empty()) {
    throw Error(ErrorCode::io, concat("cannot read the selection ", path, ": ", content.problem,
                                      " (every host needs the same file)"));
  }
  std::istringstream lines(content.text);
  return {lines, path};
}

void SelectionTable::add(const SelectionKey& key, const SelectionRow& row) {
  lines_.push_back({key, row});
}

void SelectionTable::write(std::ostream& out) const {
  out << "# operation backend ranks hosts below algorithm\n";
  for (const auto& [key, row] : lines_) {
    out << concat("all_reduce ", key.backend, ' ', key.ranks, ' ', key.hosts, ' ',
                  row.below == kAllThatIsLonger ? "-" : concat(row.below), ' ',
                  name_of(row.algorithm), '\n');
  }
}

std::vector<SelectionRow> SelectionTable::rows(const SelectionKey& key) const {
  std::vector<SelectionRow> result;
  for (const Line& line : lines_) {
    if (line.key == key) result.push_back(line.row);
  }
  return result;
}

std::uint64_t SelectionTable::hash() const {
  if (lines_.empty()) return 0;
  std::ostringstream text;
  write(text);
  return mix_hash(text.str());
}

}  // namespace bp
