// Numbers as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bp::trainer {

// The finite number that is the whole of `text` ("3", "-0.5", "1e3"), or none.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

[[nodiscard]] std::string with_commas(std::int64_t number);  // "67,349"

}  // namespace bp::trainer
