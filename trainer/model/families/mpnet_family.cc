#include "trainer/model/families/family.h"

namespace bp::trainer {

// RoBERTa's positions and head, and a relative bias. transformers computes with a padding token of
// 1 and with 32 buckets, whatever a config.json says.
const Family& mpnet() {
  static const Family kMpnet = [] {
    Family family = roberta();
    family.classes = "MPNet";
    family.usual.family = "mpnet";
    family.usual.token_types = 1;
    family.usual.pad_id = 1;
    family.usual.relative_bias = true;
    family.keys = without(without(family.keys, &EncoderSpec::token_types), &EncoderSpec::pad_id);
    family.constants.push_back({"pad_token_id", 1});
    family.constants.push_back({"relative_attention_num_buckets", kRelativeBuckets});
    WeightNames& names = family.names;
    names.prefix = "mpnet.";
    names.types = "";
    names.relative = "encoder.relative_attention_bias";
    names.qkv = {"attention.attn.q", "attention.attn.k", "attention.attn.v"};
    names.merged_qkv = "attention.attn.qkv";
    names.attention_output = "attention.attn.o";
    names.attention_norm = "attention.LayerNorm";
    return family;
  }();
  return kMpnet;
}

}  // namespace bp::trainer
