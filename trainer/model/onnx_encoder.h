// An encoder as a graph of ONNX. It computes what Encoder computes in evaluation.
#pragma once

#include "trainer/model/config.h"
#include "trainer/model/onnx_graph.h"

namespace bp::trainer {

// Adds the inputs input_ids, attention_mask and, for a model of several token types,
// token_type_ids, i64 [batch, sequence] as those of transformers, and the encoder. Returns the last
// layer's states, [batch, sequence, hidden].
[[nodiscard]] OnnxGraph::Value add_encoder(OnnxGraph& graph, const EncoderSpec& spec);

// Returns what the pooler makes of states.
[[nodiscard]] OnnxGraph::Value add_pooling(OnnxGraph& graph,
                                           const EncoderSpec& spec,
                                           const OnnxGraph::Value& states);

// Returns the pooler's output for the texts' states: [batch, hidden].
[[nodiscard]] OnnxGraph::Value add_pooler(OnnxGraph& graph,
                                          const EncoderSpec& spec,
                                          const OnnxGraph::Value& states);

}  // namespace bp::trainer
