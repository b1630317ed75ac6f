// The checksum of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace bp::trainer {

// CRC-32C (Castagnoli), as in RFC 3720.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

// The form in which a TFRecord file stores it: a checksum over data that contains checksums would
// be weak, so it is rotated and shifted by a constant.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace bp::trainer
