#include <filesystem>

#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/model/weights.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

int run_merge(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  if (path_exists(options.out)) {
    throw InputError(2, concat("--out: ", options.out, " exists already"), "name a new folder");
  }
  const ModelSource source = find_model(options.scored, *options.task, options.extensions);
  if (!source.adapters) {
    throw InputError(2, concat(source.name, " holds a whole model and no adapters"),
                     "there is nothing to merge: use the folder as it is");
  }
  if (source.vocabulary.empty()) {
    throw InputError(66, concat("no vocab.txt in ", source.name, " and none in ", source.base),
                     "put the vocabulary of the model into its folder");
  }
  const auto model = load_model(source);
  model->merge_adapters();
  save_model(*model,
             {Vocabulary::read(source.vocabulary).tokens, source.tokenizer.lower_case,
              source.max_length()},
             std::filesystem::path(options.out).lexically_normal().string());
  print_line(concat("wrote ", options.out, ": a whole model with rank ", source.adapters->rank,
                    " adapters merged into ", source.base));
  return 0;
}

}  // namespace bp::trainer
