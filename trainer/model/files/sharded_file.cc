#include "trainer/model/files/sharded_file.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

// The names of the tensors in each file of a folder.
using Shards = std::map<std::string, std::set<std::string>>;

Shards shards_in(const std::string& text) {
  const Json json = parse_object(text);
  const Json& map = find(json, "weight_map");
  if (!map.is_object()) refuse("'weight_map' is not an object of file names");
  Shards shards;
  for (const auto& [tensor, file] : map.items()) {
    const bool is_name =
        file.is_string() && !file.empty() && file.get<std::string>().find('/') == std::string::npos;
    if (!is_name) {
      refuse(concat("the file of ", in_quotes(tensor), " is ", shown(file),
                    "; it must be a name in the index's folder"));
    }
    shards[file.get<std::string>()].insert(tensor);
  }
  if (shards.empty()) refuse("'weight_map' names no file");
  return shards;
}

Shards read_index(const std::string& path) { return parse_json_file(path, shards_in); }

std::string beside(const std::string& index, const std::string& file) {
  return (std::filesystem::path(index).parent_path() / file).string();
}

class ShardedFile : public TensorFile {
 public:
  explicit ShardedFile(const std::string& index) {
    for (const auto& [file, names] : read_index(index)) add(beside(index, file), names);
  }
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t index, void* to) const override {
    const auto& [shard, own] = places_[index];
    shards_[shard]->read(own, to);
  }

 private:
  void add(const std::string& path, std::set<std::string> missing) {
    std::unique_ptr<TensorFile> shard = open_tensor_file(path);
    for (std::size_t i = 0; i < shard->tensors().size(); ++i) {
      places_.emplace_back(shards_.size(), i);
      tensors_.push_back(shard->tensors()[i]);
      missing.erase(tensors_.back().name);
    }
    if (!missing.empty()) {
      refuse(path,
             concat("it lacks ", in_quotes(*missing.begin()), ", which the index says it has"));
    }
    shards_.push_back(std::move(shard));
  }

  std::vector<std::unique_ptr<TensorFile>> shards_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // shard, and the tensor's index there
};

}  // namespace

bool is_weight_index(const std::string& path) { return path.ends_with(".index.json"); }

std::vector<std::string> files_of_weights(const std::string& path) {
  if (!is_weight_index(path)) return {path};
  std::vector<std::string> files;
  for (const auto& [file, names] : read_index(path)) files.push_back(beside(path, file));
  return files;
}

std::unique_ptr<TensorFile> open_sharded_file(const std::string& path) {
  return std::make_unique<ShardedFile>(path);
}

}  // namespace bp::trainer
