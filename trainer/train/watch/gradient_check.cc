#include "trainer/train/watch/gradient_check.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/common/hash.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kHashes = 2;  // of a parameter: its values' and its gradient's
constexpr std::size_t kHashBytes = sizeof(std::uint64_t);

void append_hash(std::string& to, const at::Tensor& tensor) {
  std::uint64_t hash = 0;
  if (tensor.defined()) {
    const at::Tensor values = tensor.detach().to_dense().cpu().contiguous();
    hash = digest_of({static_cast<const char*>(values.const_data_ptr()), values.nbytes()}).low;
  }
  to.append(reinterpret_cast<const char*>(&hash), kHashBytes);
}

}  // namespace

void check_same_on_all_ranks(Communicator& world, const Bert& model, std::int64_t step) {
  std::string mine;
  for (const auto& [name, parameter] : model.parameters()) {
    append_hash(mine, parameter);
    append_hash(mine, parameter.grad());
  }
  const std::vector<std::string> all =
      all_gather_object(world, mine, {.name = "hashes of gradients"});
  for (std::size_t i = 0; i < mine.size() / kHashBytes; ++i) {
    const auto hash_of = [&](const std::string& hashes) {
      return std::string_view(hashes).substr(i * kHashBytes, kHashBytes);
    };
    std::vector<int> others;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (hash_of(all[rank]) != hash_of(all.front())) others.push_back(static_cast<int>(rank));
    }
    if (others.empty()) continue;
    throw InputError(
        70,
        concat("step ", step, ": ", i % kHashes == 0 ? "the parameter " : "the gradient of ",
               model.parameters()[i / kHashes].first, " on ", ranks_text(others),
               others.size() == 1 ? " differs" : " differ", " from rank 0's"),
        "the hosts may differ in hardware or software, or a host computes wrongly: try without it");
  }
}

}  // namespace bp::trainer
