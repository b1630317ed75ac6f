// Reads the steps of a tokenizer.json: normalizers and pre-tokenizers.
#pragma once

#include <string>
#include <vector>

#include "trainer/text/json_place.h"
#include "trainer/text/normalizers.h"
#include "trainer/text/splitters.h"

namespace bp::trainer {

// A step or a setting that bp does not have is refused by its name. The first two take the place of
// a step, of a Sequence of them, or null for none.
[[nodiscard]] std::vector<Normalizer> read_normalizers(const JsonPlace& place);
[[nodiscard]] std::vector<Splitter> read_splitters(const JsonPlace& place);  // of whole characters
// Returns what a Metaspace among them writes for a blank, or "".
[[nodiscard]] std::string read_blank(const JsonPlace& place);
// Before byte-level BPE.
[[nodiscard]] Splitter read_byte_level(const JsonPlace& place);

}  // namespace bp::trainer
