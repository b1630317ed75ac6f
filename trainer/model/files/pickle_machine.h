// The stack machine of Python's pickles (protocol 2), without everything that could do harm: see
// pickle.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

enum class PickleKind : std::uint8_t {
  none,
  boolean,     // number
  integer,     // number
  text,        // text
  tuple,       // items
  dictionary,  // items: key, value, key, value, ...
  global,      // text: "torch FloatStorage"
  persistent,  // items: the 5 of its tuple; an object outside of the pickle
  tensor,      // items: the arguments of torch._utils._rebuild_tensor_v2, 6 or 7
};
[[nodiscard]] std::string_view name_of(PickleKind kind);

// A value refers to others by their index, so that several values may refer to the same one.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;
  std::string text;
  std::vector<std::uint32_t> items;
};

struct PickleValues {
  std::vector<PickleValue> all;
  std::uint32_t root = 0;
  [[nodiscard]] const PickleValue& operator[](std::uint32_t id) const { return all[id]; }
};

inline constexpr std::size_t kMaxPickle = 16 << 20;  // bytes; a large BERT needs 60 KiB
inline constexpr std::size_t kMaxPickleValues = 1 << 20;

// Runs the pickle and returns its values. Throws invalid_argument, naming the byte.
[[nodiscard]] PickleValues run_pickle(const std::string& pickle);

}  // namespace bp::trainer
