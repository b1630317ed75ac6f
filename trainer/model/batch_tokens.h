// The numbers of a batch's tokens in the order in which an encoder's layout has them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {

// Returns numbers of a batch's tokens, [rows, length], without those of the padding: i64 [tokens].
[[nodiscard]] at::Tensor without_padding(const std::vector<std::int64_t>& numbers,
                                         const Batch& batch,
                                         const Layout& layout);

// Returns the positions of a batch's tokens, of which the first of a sample is that after `pad_id`.
// Padding inside a text counts for no token and has the position `pad_id`.
[[nodiscard]] std::vector<std::int64_t> positions_after(std::int64_t pad_id,
                                                        const Batch& batch,
                                                        const Layout& layout);

// A decoder's tokens stand in reverse order. Returns numbers of tokens, i64 on the host, with those
// of each sample reversed.
[[nodiscard]] at::Tensor reversed(const at::Tensor& numbers, const Layout& layout);
// Returns the positions of tokens in reverse order, of which the first of a text is `first`.
[[nodiscard]] std::vector<std::int64_t> reversed_positions(std::int64_t first,
                                                           const Layout& layout);
// Returns what a decoder reads where the encoder reads `ids`, both in reverse order: the token
// `start`, and those of the sample without the last one.
[[nodiscard]] at::Tensor decoder_ids(const at::Tensor& ids,
                                     const Layout& layout,
                                     std::int64_t start);

}  // namespace bp::trainer
