#include "trainer/tasks/classify/token_queues.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/tasks/classify/token_file.h"

namespace bp::trainer {
namespace {

constexpr std::array<std::pair<const char*, Split>, 3> kQueues{
    {{"TrainQueue", Split::train}, {"ValidateQueue", Split::dev}, {"TestQueue", Split::test}}};

class QueueReader {
 public:
  explicit QueueReader(const std::string& path) : path_(path), database_(open_token_file(path)) {}

  FileSplit run() {
    const bool has_one = std::ranges::any_of(
        kQueues, [&](const auto& queue) { return has_table(database_, queue.first); });
    if (!has_one) return {};
    read_ids();
    std::string problem;
    for (std::size_t i = 0; i < kQueues.size() && problem.empty(); ++i) {
      problem = read_queue(kQueues[i].first, kQueues[i].second);
    }
    const auto without =
        std::ranges::find_if(splits_, [](const auto& split) { return !split.has_value(); });
    if (problem.empty() && without != splits_.end()) {
      problem = concat("sample_id ", ids_[static_cast<std::size_t>(without - splits_.begin())],
                       " is in no queue");
    }
    if (!problem.empty()) {
      return {.remark = concat("the split of ", path_, " is not taken, because ", problem)};
    }
    FileSplit split{.remark = concat("its tables TrainQueue, ValidateQueue and TestQueue divide ",
                                     path_, "; --split divides it anew")};
    for (const std::optional<Split>& known : splits_) split.of_rows.push_back(*known);
    return split;
  }

 private:
  // An id that is no integer, or comes again, is refused when the samples are read.
  void read_ids() {
    require_token_table(database_, path_, "Samples");
    read_token_table(path_, "Samples", [&] {
      SQLite::Statement select(database_, "SELECT sample_id FROM Samples ORDER BY sample_id");
      while (select.executeStep()) {
        const std::int64_t id = select.getColumn(0).getInt64();
        if (!ids_.empty() && id <= ids_.back()) break;
        ids_.push_back(id);
      }
    });
    splits_.resize(ids_.size());
  }

  // Returns why the queues are no split; "" if this one may be a part of one.
  std::string read_queue(const std::string& table, Split split) {
    if (!has_table(database_, table)) return concat("it has no table ", table);
    std::string problem;
    read_token_table(path_, table, [&] {
      SQLite::Statement select(database_, concat("SELECT sample_id FROM ", table));
      while (problem.empty() && select.executeStep()) {
        const bool whole = select.getColumn(0).isInteger();
        const std::int64_t id = select.getColumn(0).getInt64();
        const auto found = std::ranges::lower_bound(ids_, id);
        const bool exists = found != ids_.end() && *found == id;
        const auto at = static_cast<std::size_t>(found - ids_.begin());
        if (!whole) {
          problem = concat("a sample_id of ", table, " is not an integer");
        } else if (!exists) {
          problem = concat(table, " has sample_id ", id, ", which Samples lacks");
        } else if (splits_[at]) {
          problem = concat("sample_id ", id, " of ", table, " is in the queues twice");
        } else {
          splits_[at] = split;
        }
      }
    });
    return problem;
  }

  std::string path_;
  SQLite::Database database_;
  std::vector<std::int64_t> ids_;             // of the samples, ascending
  std::vector<std::optional<Split>> splits_;  // of the ids
};

}  // namespace

FileSplit split_of_token_file(const std::string& path) {
  FileSplit split;
  read_token_table(path, "sqlite_schema", [&] { split = QueueReader(path).run(); });
  return split;
}

}  // namespace bp::trainer
