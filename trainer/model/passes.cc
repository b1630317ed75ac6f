#include "trainer/model/passes.h"

#include <ATen/ops/empty.h>

namespace bp::trainer {

Parts empty_parts(const Layout& layout,
                  const Heads& heads,
                  const at::Tensor& x,
                  std::vector<int> lengths) {
  Parts parts{{}, std::move(lengths)};
  for (const int length : parts.lengths) {
    parts.matrices.push_back(
        at::empty({std::int64_t{layout.rows} * heads.count, length, heads.size}, x.options()));
  }
  return parts;
}

at::Tensor empty_rows(const Layout& layout, const Heads& heads, const Parts& parts) {
  const bool first_only = parts.lengths.size() == 1 && parts.lengths[0] == 1;
  const auto count = static_cast<std::int64_t>(parts.lengths.size());
  return at::empty({first_only ? layout.rows : layout.tokens, count * heads.count * heads.size},
                   parts.matrices[0].options());
}

}  // namespace bp::trainer
