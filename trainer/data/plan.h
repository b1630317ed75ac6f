// The plan of prepare(), made without reading all of the source: the columns, the store's path, and
// the fingerprint that a store must have to be reused.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/prepare.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/table.h"

namespace bp::trainer {

// Pairs (name, value) in a fixed order: everything that determines the content of a store.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// The attributes that change when a file is written.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t written_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path);  // zeros if it does not exist

struct SourceFile {
  std::string path;
  TableLayout layout;
  Split split = Split::train;  // the split of its rows; unused if the rows are divided by share
  FileStamp stamp;             // taken before the first reading
};

struct Plan {
  PrepareOptions options;
  std::string store;
  bool split_by_share = true;       // the rows of the only source are divided by share
  std::vector<SourceFile> sources;  // the first is the one to train on or to score
  Fingerprint fingerprint;
};

// Returns the store's path for these options: options.store, or the default path next to the
// source.
[[nodiscard]] std::string store_path(const PrepareOptions& options);

// Throws InputError (2) unless the three shares sum to 1 and the first is above 0.
void require_split(const std::array<double, 3>& split);

// Makes the plan. Throws InputError if the options or the source's first rows are wrong.
[[nodiscard]] Plan make_plan(const PrepareOptions& options);

// Returns "max length is 128 there, 64 here; ..."; "" if the fingerprints are equal.
[[nodiscard]] std::string difference(const Fingerprint& there, const Fingerprint& here);

// Returns "the data file reviews.csv has changed (1,200 bytes, XXH3 ... then, 1,234 bytes, XXH3 ...
// now)" if only the content of source files differs, else "".
[[nodiscard]] std::string changed_source(const Fingerprint& there, const Plan& plan);

}  // namespace bp::trainer
