// Makes samples of rows that are instances (instance_rows.h).
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/task_data.h"
#include "trainer/tasks/pretrain/packed_instance.h"

namespace bp::trainer {

class InstanceSamples : public SampleMaker {
 public:
  // What a sample holds besides its tokens and their types; see pretrain_input.h.
  struct Form {
    bool next_sentence = false;
    bool masks = false;
    int max_length = 0;  // of an instance
  };
  explicit InstanceSamples(const Form& form) : form_(form) {}

  void make(Fields fields, SampleSink& sink) override;

 private:
  void require_fitting(const Instance& instance) const;

  Form form_;
  PackedInstance packed_;
  std::vector<std::int32_t> types_;
};

}  // namespace bp::trainer
