#include "trainer/model/files/pickle.h"

#include <array>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/files/byte_source.h"
#include "trainer/model/files/pickle_machine.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kMaxTensors = 100'000;
constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kMaxStorageName = 100;  // "0", "1", ...

// The types of storages, and what safetensors calls their elements.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kTypes = {{
    {"torch FloatStorage", "F32"},
    {"torch HalfStorage", "F16"},
    {"torch BFloat16Storage", "BF16"},
    {"torch DoubleStorage", "F64"},
    {"torch LongStorage", "I64"},
    {"torch IntStorage", "I32"},
    {"torch ShortStorage", "I16"},
    {"torch CharStorage", "I8"},
    {"torch ByteStorage", "U8"},
    {"torch BoolStorage", "BOOL"},
}};

// Parses one tensor of the dictionary; errors name it.
class TensorParser {
 public:
  TensorParser(const PickleValues& values, const std::string& name)
      : values_(values), name_(name) {}

  // (storage, offset, shape, strides, requires_grad, hooks): see pickle_machine.cc.
  PickledTensor operator()(const PickleValue& tensor) const {
    PickledTensor result;
    result.name = name_;
    take_storage(item(tensor, 0), result);
    result.offset = natural(item(tensor, 1), "its offset");
    result.shape = naturals(item(tensor, 2), "its shape");
    result.strides = naturals(item(tensor, 3), "its strides");
    check_extent(result);
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& text) const {
    throw Error(ErrorCode::invalid_argument, concat("tensor ", in_quotes(name_), " ", text));
  }
  [[nodiscard]] const PickleValue& item(const PickleValue& of, std::size_t index) const {
    return values_[of.items[index]];
  }
  [[nodiscard]] std::int64_t natural(const PickleValue& value, std::string_view what) const {
    if (value.kind != PickleKind::integer || value.number < 0) {
      refuse(concat("is broken: ", what, " is not a natural number"));
    }
    return value.number;
  }
  [[nodiscard]] std::vector<std::int64_t> naturals(const PickleValue& value,
                                                   std::string_view what) const {
    if (value.kind != PickleKind::tuple) refuse(concat("is broken: ", what, " is not a tuple"));
    if (value.items.size() > kMaxDimensions) {
      refuse(concat("has ", value.items.size(), " dimensions; the most that bp reads is ",
                    kMaxDimensions));
    }
    std::vector<std::int64_t> numbers;
    for (const std::uint32_t id : value.items) numbers.push_back(natural(values_[id], what));
    return numbers;
  }

  // Reads ("storage", type of storage, name, device ("cpu"), number of elements).
  void take_storage(const PickleValue& storage, PickledTensor& result) const {
    const bool complete = storage.kind == PickleKind::persistent &&
                          item(storage, 0).text == "storage" &&
                          item(storage, 2).kind == PickleKind::text &&
                          item(storage, 2).text.size() <= kMaxStorageName;
    if (!complete) refuse("is broken: it has no storage");
    for (const auto& [torch_type, type] : kTypes) {
      if (item(storage, 1).text == torch_type) result.type = type;
    }
    if (result.type.empty()) refuse("is broken: its storage has no type");
    result.storage = item(storage, 2).text;
    result.storage_elements = natural(item(storage, 4), "the size of its storage");
  }

  void check_extent(const PickledTensor& tensor) const {
    if (tensor.shape.size() != tensor.strides.size()) {
      refuse(concat("is broken: ", tensor.shape.size(), " dimensions and ", tensor.strides.size(),
                    " strides"));
    }
    std::int64_t elements = 1;
    std::int64_t last = tensor.offset;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const std::int64_t size = tensor.shape[i];
      std::int64_t step = 0;
      if (__builtin_mul_overflow(elements, size, &elements)) refuse("is too large");
      if (size == 0) continue;
      if (__builtin_mul_overflow(size - 1, tensor.strides[i], &step) ||
          __builtin_add_overflow(last, step, &last)) {
        refuse("is too large");
      }
    }
    if (elements == 0) return;
    if (last >= tensor.storage_elements) {
      refuse(concat("reaches element ", last, " of a storage of ", tensor.storage_elements));
    }
  }

  const PickleValues& values_;
  const std::string& name_;
};

}  // namespace

std::int64_t PickledTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

bool PickledTensor::contiguous() const {
  if (elements() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;  // the stride of a dimension of size 1 has no effect
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::int64_t PickledTensor::end() const {
  if (elements() == 0) return offset;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::vector<PickledTensor> parse_state_dict(const std::string& pickle) {
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorCode::invalid_argument, text);
  };
  const PickleValues values = run_pickle(pickle);
  const PickleValue& root = values[values.root];
  if (root.kind != PickleKind::dictionary) {
    refuse(concat("it holds a ", name_of(root.kind), ", not a state_dict"));
  }
  if (root.items.size() / 2 > kMaxTensors) {
    refuse(concat("it has ", root.items.size() / 2, " tensors; the most that bp reads is ",
                  kMaxTensors));
  }
  std::vector<PickledTensor> tensors;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < root.items.size(); i += 2) {
    const PickleValue& key = values[root.items[i]];
    const PickleValue& value = values[root.items[i + 1]];
    if (key.kind != PickleKind::text) refuse(concat("a ", name_of(key.kind), " names a tensor"));
    if (value.kind != PickleKind::tensor) {
      refuse(concat(in_quotes(key.text), " is a ", name_of(value.kind),
                    ", not a tensor: save the state_dict alone"));
    }
    if (!names.insert(key.text).second) refuse(concat(in_quotes(key.text), " occurs twice"));
    tensors.push_back(TensorParser(values, key.text)(value));
  }
  return tensors;
}

}  // namespace bp::trainer
