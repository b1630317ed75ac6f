#include "trainer/model/pass.h"

namespace bp::trainer {

at::Tensor Pass::product(const LayoutPtr& x_layout,
                         const at::Tensor& x,
                         const Linear& linear,
                         std::uint32_t later_sites) const {
  at::Tensor y = trainer::product(x, weight(linear.weight));
  for (const Adapter& adapter : linear.adapters) {
    const at::Tensor dropped =
        drop(x_layout, x, dropout(lora->dropout, adapter.site + later_sites));
    const at::Tensor low = trainer::product(dropped, weight(adapter.a));
    y = add_columns(y, trainer::product(low, weight(adapter.b)), adapter.begin, adapter.scale);
  }
  return y;
}

}  // namespace bp::trainer
