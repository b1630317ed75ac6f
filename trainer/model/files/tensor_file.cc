#include "trainer/model/files/tensor_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/files/sharded_file.h"
#include "trainer/model/files/torch_file.h"

namespace bp::trainer {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kZip = "PK\3\4";
// torch.save before 1.6 wrote a pickle that begins with the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kOldTorch = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::string_view kPointer = "version https://git-lfs";

class SafetensorsFile : public TensorFile {
 public:
  SafetensorsFile(std::unique_ptr<ByteSource> source, const std::string& name)
      : reader_(std::move(source), name) {
    for (const SafetensorsEntry& entry : reader_.header().entries) {
      tensors_.push_back({entry.name, entry.type, entry.shape});
    }
  }
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t index, void* to) const override {
    reader_.read(reader_.header().entries[index], to);
  }

 private:
  SafetensorsReader reader_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace

std::unique_ptr<TensorFile> open_tensor_file(const std::string& path) {
  if (is_weight_index(path)) return open_sharded_file(path);
  return open_tensor_file(std::make_unique<FileBytes>(path), path);
}

std::unique_ptr<TensorFile> open_tensor_file(std::unique_ptr<ByteSource> source,
                                             const std::string& name) {
  const std::string beginning =
      read_text(*source, 0, std::min<std::uint64_t>(source->size(), kPointer.size()));
  const auto refuse = [&](const std::string& text) {
    throw Error(ErrorCode::invalid_argument, concat(name, " ", text));
  };
  if (beginning.starts_with(kPointer)) {
    refuse("holds no weights, only a pointer of Git LFS to them: fetch them with `git lfs pull`");
  }
  if (beginning.starts_with(kOldTorch)) {
    refuse(
        "was saved by a PyTorch before 1.6: load and save it with a newer one, or convert it to "
        "safetensors");
  }
  if (!beginning.starts_with(kZip)) {
    return std::make_unique<SafetensorsFile>(std::move(source), name);
  }
  try {
    return open_torch_file(std::move(source));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    refuse(concat("is not a valid file of torch.save: ", error.what()));
  }
  return nullptr;
}

}  // namespace bp::trainer
