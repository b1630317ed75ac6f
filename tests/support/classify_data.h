// The data of the task "classify", which tests of data use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/store/sample_store.h"
#include "trainer/store/store_writer.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {

// Returns the task with these options: classify({"--label", "stars"}).
inline std::shared_ptr<TaskInput> classify(const std::vector<std::string>& arguments = {}) {
  std::shared_ptr<TaskInput> input = make_classify_input();
  OptionSet options("test", "", "");
  input->add_options(options);
  (void)options.parse(arguments);
  return input;
}

// Returns the fields that it reads.
inline std::vector<Field> text_and_label(const std::string& text = "text",
                                         const std::string& label = "label") {
  return {{"text", text}, {"label", label, true}};
}

inline SampleSchema label_schema() { return classify()->schema(); }
inline std::int64_t label_of(const Sample& sample) { return sample.arrays[0].integers.at(0); }

inline void add_labelled(StoreWriter& writer,
                         Split split,
                         std::int64_t text_id,
                         std::int64_t label,
                         const std::vector<std::int32_t>& token_ids) {
  const ArrayView array = label;
  writer.add_sample(split, text_id, token_ids, std::span(&array, 1));
}

}  // namespace bp::trainer
