// Plans the work of prepare(), as far as it is known before all of the source is read as a table:
// the columns, the path of the store, and the fingerprint that a store must have to be reused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/input/table.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/task_data.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

// Changes when a program writes to the file.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t written_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path);  // zeros if it does not exist

struct DataFile {
  std::string path;
  std::optional<TableLayout> layout;  // none: the task has its own reader
  FileStamp stamp;                    // before the first reading
};

// Files whose rows follow one another, and count on from file to file.
struct SourceFiles {
  std::string name;            // for messages: "a.csv", or "a.csv and 2 more files"
  Split split = Split::train;  // of the rows, unless Plan::divided
  std::vector<DataFile> files;

  // Returns how the first file is read.
  [[nodiscard]] const std::optional<TableLayout>& layout() const { return files.front().layout; }
};

struct Plan {
  PrepareOptions options;
  std::string store;                 // the usual path; see place_of_store()
  bool divided = true;               // the rows of the only source are divided
  FileSplit file_split;              // how it divides them itself; without rows: by share
  std::vector<SourceFiles> sources;  // the first is the one to train on, or to score
  Fingerprint fingerprint;
};

// Returns whether `data` names a store and not a file to make one of: its suffix is .sqlite, and it
// is not a database of another program.
[[nodiscard]] bool is_store(const std::string& data);
[[nodiscard]] bool is_store_name(const std::string& data);  // by the suffix alone

// Returns the usual path of the store of these options: options.store, or beside the source:
// r.sqlite of r.csv, and r.store.sqlite of r.sqlite. See place_of_store() for a store of other
// options.
[[nodiscard]] std::string store_path(const PrepareOptions& options);

// Throws InputError (2) unless the three shares sum to 1 and the first is above 0.
void require_split(const std::array<double, 3>& split);

// Throws InputError (2, 65, 66) for options that cannot be right and for files that are not tables.
[[nodiscard]] Plan make_plan(const PrepareOptions& options);

// Returns "reading reviews.csv", with the separator of its fields if that is an unusual one.
[[nodiscard]] std::string reading_text(const Plan& plan);

// Returns options that make another store and another run, if the options name one: "--store
// reviews-2.sqlite --run runs/a-2", the first names with a number that are free. A store of other
// options needs no name if the present one has none.
[[nodiscard]] std::string another_place(const Plan& plan);

}  // namespace bp::trainer
