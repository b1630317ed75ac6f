// The commands that write a model in another form: export and merge.
#include <filesystem>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/common/look_up.h"
#include "trainer/model/onnx_graph.h"
#include "trainer/model/weights.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

int run_command(Communicator& world, const ExportOptions& options) {
  if (world.rank() != 0) return 0;
  require_writable(options.out);
  const ModelSource source = find_model(options.model, *options.task, options.extensions);
  const auto model = load_model(source);
  model->merge_adapters();
  OnnxGraph graph(model->parameters(), options.int8 ? OnnxNumbers::int8 : OnnxNumbers::fp32);
  try {
    model->add_to(graph);
    graph.metadata("task", source.task_name);
    graph.metadata("config.json", config_json(model->config()));
    graph.write(options.out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw InputError(2, concat(source.name, ": ", error.what()),
                     "bert_train export writes models of one text or a pair of texts: classify, "
                     "regress and tokens");
  }
  print_line(concat("wrote ", options.out, ": ", options.int8 ? "int8" : "fp32",
                    ", inputs input_ids, attention_mask",
                    model->config().has_types() ? ", token_type_ids" : "", "; output logits"));
  return 0;
}

int run_command(Communicator& world, const MergeOptions& options) {
  if (world.rank() != 0) return 0;
  if (path_exists(options.out)) {
    throw InputError(2, concat("--out: ", options.out, " exists already"), "name a new folder");
  }
  const ModelSource source = find_model(options.model, *options.task, options.extensions);
  if (!source.adapters) {
    throw InputError(2, concat(source.name, " holds a whole model and no adapters"),
                     "there is nothing to merge: use the folder as it is");
  }
  if (source.vocabulary.empty()) {
    throw InputError(
        66, concat("no vocab.txt or tokenizer.json in ", source.name, " and none in ", source.base),
        "put the vocabulary of the model into its folder");
  }
  const auto model = load_model(source);
  model->merge_adapters();
  save_model(*model,
             tokenizer_files(Vocabulary::read(source.vocabulary),
                             {source.tokenizer.lower_case, source.max_length()}),
             std::filesystem::path(options.out).lexically_normal().string());
  print_line(concat("wrote ", options.out, ": a whole model with rank ", source.adapters->rank,
                    " adapters merged into ", source.base));
  return 0;
}

}  // namespace bp::trainer
