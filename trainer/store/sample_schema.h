// A task defines the arrays that a sample holds besides its tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bp::trainer {

enum class Element : std::uint8_t { integer, real };

// How many values an array has in a sample: one, one for each token, or any number.
enum class Shape : std::uint8_t { one, per_token, ragged };

struct ArrayField {
  std::string name;  // small letters and _; the store has a column with this name
  Element element = Element::integer;
  Shape shape = Shape::one;
  std::int64_t padding = 0;  // fills up the shorter rows of a batch
  bool named = false;        // its integers are numbers of the store's names, or padding
  bool places = false;       // its integers are places of tokens in the sample
  bool operator==(const ArrayField&) const = default;
};

using SampleSchema = std::vector<ArrayField>;

// An array of integers with this name, one for each token, is for the encoder: the row of its
// token type embeddings.
inline constexpr std::string_view kTokenTypes = "token_types";

// The values of one array, in the member for its elements.
struct ArrayValues {
  std::vector<std::int64_t> integers = {};
  std::vector<double> reals = {};
  bool operator==(const ArrayValues&) const = default;
};

// The values of one array on their way into a store: of Shape::one, or of another.
using ArrayView =
    std::variant<std::int64_t, double, std::span<const std::int32_t>, std::span<const double>>;

}  // namespace bp::trainer
