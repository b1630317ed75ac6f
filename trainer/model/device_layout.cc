#include "trainer/model/device_layout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "trainer/model/device_of.h"

namespace bp::trainer {

std::shared_ptr<const DeviceLayout> make_device_layout(const Layout& layout, c10::Device device) {
  BP_CHECK(layout.tokens == layout.offsets.back(), "rows of tokens that belong to no sample");
  const std::int64_t rows = layout.rows;
  const std::int64_t tokens = layout.tokens;
  // One tensor, and so one copy to the device, for all.
  const at::Tensor host = at::empty({3 * rows + 3 * tokens}, at::kLong);
  auto* const samples = host.mutable_data_ptr<std::int64_t>();
  std::int64_t* const firsts = std::copy(layout.samples.begin(), layout.samples.end(), samples);
  std::int64_t* const lengths = std::copy_n(layout.offsets.begin(), rows, firsts);
  std::int64_t* const sample_of_token = lengths + rows;
  std::int64_t* const place_of_token = sample_of_token + tokens;
  std::int64_t* const padded_of_token = place_of_token + tokens;
  for (std::int64_t row = 0; row < rows; ++row) {
    lengths[row] = layout.length(static_cast<int>(row));
    for (std::int64_t place = 0; place < lengths[row]; ++place) {
      const std::int64_t token = firsts[row] + place;
      sample_of_token[token] = samples[row];
      place_of_token[token] = place;
      padded_of_token[token] = row * layout.longest + place;
    }
  }
  const std::vector<at::Tensor> parts =
      to_device(host, device).split_with_sizes({rows, rows, rows, tokens, tokens, tokens});
  DeviceLayout result;
  result.samples = parts[0];
  result.firsts = parts[1];
  result.lengths = parts[2];
  result.sample_of_token = parts[3];
  result.place_of_token = parts[4];
  result.padded_of_token = parts[5];
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
