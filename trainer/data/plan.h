// What prepare() is asked to do, found out without reading all of the source: where the columns
// are, where the store goes, and the fingerprint that a store must have to be reused.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/prepare.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/table.h"

namespace bp::trainer {

// (what, value) in a fixed order; everything that decides the content of a store.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

struct SourceFile {
  std::string path;
  TableLayout layout;
  Split split = Split::train;  // of its rows, unless they are dealt out by share
};

struct Plan {
  PrepareOptions options;
  std::string store;
  bool split_by_share = true;       // of the only source
  std::vector<SourceFile> sources;  // the first is the one to train on
  Fingerprint fingerprint;
};

// Throws InputError.
[[nodiscard]] Plan make_plan(const PrepareOptions& options);

// "max length is 128 there, 64 here; ..." or "" when they are the same.
[[nodiscard]] std::string difference(const Fingerprint& there, const Fingerprint& here);

}  // namespace bp::trainer
