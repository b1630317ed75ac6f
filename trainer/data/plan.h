// What prepare() is asked to do, found out without reading all of the source: where the columns
// are, where the store goes, and the fingerprint that a store must have to be reused.
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

// (what, value) in a fixed order; everything that decides the content of a store.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// What changes when a file is written to.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t written_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
[[nodiscard]] FileStamp stamp_of(const std::string& path);  // zeros when it is not there

struct SourceFile {
  std::string path;
  TableLayout layout;
  Split split = Split::train;  // of its rows, unless they are dealt out by share
  FileStamp stamp;             // before the first reading
};

struct Plan {
  PrepareOptions options;
  std::string store;
  bool split_by_share = true;       // of the only source
  std::vector<SourceFile> sources;  // the first is the one to train on, or to score
  Fingerprint fingerprint;
};

// Where the store of these options lies: options.store, or beside the source.
[[nodiscard]] std::string store_path(const PrepareOptions& options);

// Throws InputError (2) unless these are three shares that sum to 1, the first above 0.
void require_split(const std::array<double, 3>& split);

// Throws InputError.
[[nodiscard]] Plan make_plan(const PrepareOptions& options);

// "max length is 128 there, 64 here; ..." or "" when they are the same.
[[nodiscard]] std::string difference(const Fingerprint& there, const Fingerprint& here);

// "the data file reviews.csv has changed (1,200 bytes, XXH3 ... then, 1,234 bytes, XXH3 ... now)"
// when the content of source files is all that is not the same, else "".
[[nodiscard]] std::string changed_source(const Fingerprint& there, const Plan& plan);

}  // namespace bp::trainer
