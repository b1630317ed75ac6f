// The vocabulary of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/common/say.h"
#include "trainer/prepare/plan.h"
#include "trainer/store/sample_store.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Reads the file of --vocab. Throws InputError: 65 if it is not a vocabulary, 2 if it says that it
// is for texts of the other case.
[[nodiscard]] Vocabulary read_vocabulary(const std::string& path, bool lower_case);

// Return the vocabulary with which a store was or is prepared. `tokenizer`: see SampleStore.
[[nodiscard]] Vocabulary vocabulary_of(const SampleStore& store);
[[nodiscard]] Vocabulary stored_vocabulary(const std::vector<std::string>& tokens,
                                           const std::string& tokenizer);

// Returns the vocabulary that the options name, of the token ids in the file `path`. Throws
// InputError (2) if they name none, and what read_vocabulary() throws.
[[nodiscard]] Vocabulary needed_vocabulary(const std::string& path, const PrepareOptions& options);

// Returns the vocabulary that the plan's options name. Without one, trains it on the rows of the
// first source for whose number, from 1, `trains` returns true; calls `say` before. Throws
// InputError (65) for a file that is not a vocabulary, and what SourceRows throws.
[[nodiscard]] Vocabulary make_vocabulary(const Plan& plan,
                                         const std::function<bool(std::int64_t row)>& trains,
                                         const Say& say);

}  // namespace bp::trainer
