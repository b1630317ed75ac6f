#include "trainer/common/hash.h"

#include <xxhash.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

#include "base/check.h"
#include "base/hex.h"
#include "base/input_error.h"
#include "base/system/regular_file.h"
#include "base/text.h"

namespace bp::trainer {

Hash::Hash() : state_(XXH3_createState()) {
  BP_CHECK(state_ != nullptr && XXH3_128bits_reset(state_) == XXH_OK, "no memory for a hash");
}

Hash::~Hash() { XXH3_freeState(state_); }

void Hash::add(std::string_view bytes) {
  add_number(static_cast<std::int64_t>(bytes.size()));
  XXH3_128bits_update(state_, bytes.data(), bytes.size());
}

void Hash::add_number(std::int64_t number) { XXH3_128bits_update(state_, &number, sizeof(number)); }

void Hash::add_pieces(std::string_view pieces) {
  XXH3_128bits_update(state_, pieces.data(), pieces.size());
}

std::string Hash::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_));
  return to_hex(canonical.digest);
}

Digest digest_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

FileHash hash_file(const std::string& path) {
  if (const OpenedFile opened = open_regular_file(path); !opened.fd) {
    throw InputError(66, concat("cannot read ", path, ": ", opened.problem),
                     "check its name and permissions");
  }
  std::ifstream file(path, std::ios::binary);
  Hash hash;
  FileHash result;
  std::vector<char> block(std::size_t{1} << 20);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    if (count > 0) {
      hash.add({block.data(), count});
    }
    result.size += static_cast<std::int64_t>(count);
  }
  if (!file.eof()) {
    throw InputError(66, concat("cannot read ", path, ": ", error_text(errno)),
                     "check its name and permissions");
  }
  result.hex = hash.hex();
  return result;
}

}  // namespace bp::trainer
