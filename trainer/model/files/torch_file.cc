#include "trainer/model/files/torch_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/files/pickle.h"
#include "trainer/model/files/pickle_machine.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/files/zip_reader.h"

namespace bp::trainer {
namespace {

// Copies the elements of a view with any strides from `from`, whose first byte is that of the
// view's first element.
void gather(const PickledTensor& view, std::size_t element, const char* from, char* to) {
  std::vector<std::int64_t> index(view.shape.size(), 0);
  std::int64_t place = 0;
  for (std::int64_t left = view.elements(); left > 0; --left) {
    std::memcpy(to, from + static_cast<std::size_t>(place) * element, element);
    to += element;
    for (std::size_t i = index.size(); i-- > 0;) {
      place += view.strides[i];
      if (++index[i] < view.shape[i]) break;
      place -= view.strides[i] * view.shape[i];
      index[i] = 0;
    }
  }
}

class TorchFile : public TensorFile {
 public:
  explicit TorchFile(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
    std::string folder;
    for (ZipEntry& entry : read_zip_directory(*source_)) {
      if (entry.name.ends_with(kPickle)) folder = take_folder(folder, entry.name);
      entries_.emplace(entry.name, std::move(entry));
    }
    if (folder.empty()) refuse("it has no data.pkl");
    check_byte_order(folder);
    const ZipEntry& pickle = entries_.at(folder + std::string(kPickle));
    if (pickle.bytes > kMaxPickle) {
      refuse(concat("its pickle has ", pickle.bytes, " bytes; the most that bp reads is ",
                    kMaxPickle));
    }
    for (PickledTensor& view : parse_state_dict(read_text(*source_, pickle.offset, pickle.bytes))) {
      storages_.push_back(storage_of(folder, view));
      tensors_.push_back({view.name, view.type, view.shape});
      views_.push_back(std::move(view));
    }
  }

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const override { return tensors_; }

  void read(std::size_t index, void* to) const override {
    const PickledTensor& view = views_[index];
    const std::size_t element = element_bytes(view.type);
    const std::uint64_t begin =
        storages_[index]->offset + static_cast<std::uint64_t>(view.offset) * element;
    const std::size_t bytes = static_cast<std::size_t>(view.end() - view.offset) * element;
    if (view.contiguous()) {
      source_->read(begin, to, bytes);
    } else {
      gather(view, element, read_text(*source_, begin, bytes).data(), static_cast<char*>(to));
    }
  }

 private:
  static constexpr std::string_view kPickle = "/data.pkl";

  static std::string take_folder(const std::string& before, const std::string& name) {
    if (!before.empty()) refuse("it has several data.pkl");
    if (name.size() == kPickle.size()) refuse("its data.pkl is not in a folder");
    return name.substr(0, name.size() - kPickle.size());
  }

  void check_byte_order(const std::string& folder) const {
    const auto order = entries_.find(folder + "/byteorder");
    if (order == entries_.end()) return;  // PyTorch before 2.1 did not write it
    const std::string text =
        read_text(*source_, order->second.offset, std::min<std::uint64_t>(order->second.bytes, 16));
    if (text != "little") refuse(concat("its byte order is ", in_quotes(text), ", not 'little'"));
  }

  const ZipEntry* storage_of(const std::string& folder, const PickledTensor& view) const {
    const auto found = entries_.find(folder + "/data/" + view.storage);
    if (found == entries_.end()) {
      refuse(concat("the storage ", in_quotes(view.storage), " of ", in_quotes(view.name),
                    " is missing"));
    }
    std::int64_t bytes = 0;
    const auto element = static_cast<std::int64_t>(element_bytes(view.type));
    if (__builtin_mul_overflow(view.storage_elements, element, &bytes) ||
        static_cast<std::uint64_t>(bytes) != found->second.bytes) {
      refuse(concat("the storage ", in_quotes(view.storage), " of ", in_quotes(view.name), " has ",
                    found->second.bytes, " bytes, not ", view.storage_elements, " elements of ",
                    element));
    }
    return &found->second;
  }

  std::unique_ptr<ByteSource> source_;
  std::map<std::string, ZipEntry> entries_;
  std::vector<StoredTensor> tensors_;
  std::vector<PickledTensor> views_;       // parallel to tensors_
  std::vector<const ZipEntry*> storages_;  // parallel to tensors_, pointing into entries_
};

}  // namespace

std::unique_ptr<TensorFile> open_torch_file(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TorchFile>(std::move(source));
}

}  // namespace bp::trainer
