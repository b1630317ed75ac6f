#include "trainer/model/passes/device_layout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "trainer/model/passes/device_of.h"

namespace bp::trainer {

std::shared_ptr<const DeviceLayout> make_device_layout(const Layout& layout, c10::Device device) {
  BP_CHECK(layout.tokens == layout.offsets.back(), "rows of tokens that belong to no sample");
  const std::int64_t rows = layout.rows;
  const std::int64_t tokens = layout.tokens;
  const std::int64_t positions = std::ssize(layout.position_of_token);
  // One tensor, and so one copy to the device, for all.
  const at::Tensor host = at::empty({3 * rows + 3 * tokens + positions}, at::kLong);
  auto* to = host.mutable_data_ptr<std::int64_t>();
  to = std::copy(layout.samples.begin(), layout.samples.end(), to);
  to = std::copy_n(layout.offsets.begin(), rows, to);
  for (const auto* numbers : {&layout.lengths, &layout.sample_of_token, &layout.place_of_token,
                              &layout.padded_of_token, &layout.position_of_token}) {
    to = std::copy(numbers->begin(), numbers->end(), to);
  }
  const std::vector<at::Tensor> parts =
      to_device(host, device)
          .split_with_sizes({rows, rows, rows, tokens, tokens, tokens, positions});
  DeviceLayout result;
  result.samples = parts[0];
  result.firsts = parts[1];
  result.lengths = parts[2];
  result.sample_of_token = parts[3];
  result.place_of_token = parts[4];
  result.padded_of_token = parts[5];
  result.position_of_token = parts[6];
  return std::make_shared<const DeviceLayout>(std::move(result));
}

std::shared_ptr<const DeviceLayout> first_tokens(const DeviceLayout& layout) {
  DeviceLayout firsts;
  firsts.samples = layout.samples;
  firsts.sample_of_token = layout.samples;
  firsts.place_of_token = at::zeros_like(layout.samples);
  return std::make_shared<const DeviceLayout>(std::move(firsts));
}

}  // namespace bp::trainer
