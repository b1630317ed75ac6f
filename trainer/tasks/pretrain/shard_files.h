// Which files a path of shards stands for.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// Returns whether the name is that of a shard: it ends with .hdf5 or .h5.
[[nodiscard]] bool is_shard_name(const std::string& path);

// Returns the shards of a path, sorted by name:
// - of a file with such a name: this one;
// - of a folder: its shards, without those whose names contain "test" if others exist, because
//   NVIDIA's script puts both kinds into one folder;
// - of any other path: the shards whose names begin with it ("shards/wiki_test").
// Empty: the path is none of these.
[[nodiscard]] std::vector<std::string> shard_files(const std::string& path);

}  // namespace bp::trainer
