// Reads how a tokenizer.json writes samples: its special tokens and its post-processor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trainer/text/json_place.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// `file`: the whole file. `id_of`: the id of a token, or -1. `unknown` is that of a model
// that names none. A sample in another form than SampleForm's is refused.
[[nodiscard]] SampleForm read_sample_form(
    const JsonPlace& file, const std::function<std::int32_t(const std::string& token)>& id_of);

}  // namespace bp::trainer
