// What bert_train says of options of other trainers, and of other tasks.
#include "trainer/commands/unknown_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "tests/support/scratch.h"
#include "trainer/commands/command_line.h"
#include "trainer/report/json.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The hint, or "" if the options are accepted.
std::string hint_for(const std::vector<std::string>& arguments) {
  try {
    (void)parse_command_line(arguments);
    return "";
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), HasSubstr("unknown"));
    return error.hint();
  }
}

// Returns those of the names that have no answer of their own: neither the same option, nor one
// that is called otherwise, nor a row of the table.
std::vector<std::string> unanswered(const std::string& names, const std::string& task) {
  std::vector<std::string> unanswered;
  for (const std::string& name : words_of(names)) {
    std::string hint;
    try {
      (void)parse_command_line({"--task", task, "x.csv", name, "1"});
      continue;
    } catch (const InputError& error) {
      if (std::string(error.what()).find("unknown option") != 0) continue;  // it does not take 1
      hint = error.hint();
    }
    const bool meant = hint == concat("did you mean '--", option_name(name), "'?");
    const bool called = hint.starts_with("here it is called --");
    if (!meant && !called && hint != answer_for_foreign(name)) unanswered.push_back(name);
  }
  return unanswered;
}

constexpr const char* kHetseq =
    "--no-progress-bar --seed --cpu --log-interval --log-format --num-workers --max-tokens "
    "--max-sentences --batch-size --required-batch-size-multiple --train-subset --valid-subset "
    "--validate-interval --disable-validation --max-tokens-valid --max-sentences-valid "
    "--curriculum --task --data --dict --config_file --max_pred_length --num_file "
    "--distributed-world-size --distributed-rank --distributed-gpus --distributed-backend "
    "--distributed-init-method --device-id --local_rank --distributed-no-spawn --ddp-backend "
    "--bucket-cap-mb --fix-batches-to-gpus --find-unused-parameters --fast-stat-sync --max-epoch "
    "--me --max-update --mu --clip-norm --update-freq --lr --learning-rate --min-lr --use-bmuf "
    "--optimizer --adadelta_rho --adadelta_eps --dadelta_weight_decay --adam-betas --adam-eps "
    "--weight-decay --wd --lr_scheduler --force-anneal --fa --warmup-updates --end-learning-rate "
    "--power --total-num-update --save-dir --restore-file --reset-dataloader --reset-lr-scheduler "
    "--reset-meters --reset-optimizer --optimizer-overrides --save-interval "
    "--save-interval-updates --keep-interval-updates --keep-last-epochs --no-save "
    "--no-epoch-checkpoints --no-last-checkpoints --no-save-optimizer-state "
    "--best-checkpoint-metric --maximize-best-checkpoint-metric --hetseq_state_dict "
    "--transformers_state_dict --train_file --validation_file --test_file --extension_file "
    "--load_state_dict_strict";

constexpr const char* kTrainingArguments =
    "--output_dir --overwrite_output_dir --do_train --do_eval --do_predict --eval_strategy "
    "--evaluation_strategy --prediction_loss_only --per_device_train_batch_size "
    "--per_device_eval_batch_size --per_gpu_train_batch_size --per_gpu_eval_batch_size "
    "--gradient_accumulation_steps --eval_accumulation_steps --eval_delay "
    "--torch_empty_cache_steps --learning_rate --weight_decay --adam_beta1 --adam_beta2 "
    "--adam_epsilon --max_grad_norm --num_train_epochs --max_steps --lr_scheduler_type "
    "--lr_scheduler_kwargs --warmup_ratio --warmup_steps --log_level --log_level_replica "
    "--log_on_each_node --logging_dir --logging_strategy --logging_first_step --logging_steps "
    "--logging_nan_inf_filter --save_strategy --save_steps --save_total_limit --save_safetensors "
    "--save_on_each_node --save_only_model --restore_callback_states_from_checkpoint --use_cpu "
    "--no_cuda --use_mps_device --seed --data_seed --jit_mode_eval --use_ipex --bf16 --fp16 "
    "--fp16_opt_level --half_precision_backend --bf16_full_eval --fp16_full_eval --tf32 "
    "--local_rank --ddp_backend --tpu_num_cores --tpu_metrics_debug --debug "
    "--dataloader_drop_last --eval_steps --dataloader_num_workers --past_index --run_name "
    "--disable_tqdm --remove_unused_columns --label_names --load_best_model_at_end "
    "--metric_for_best_model --greater_is_better --ignore_data_skip --fsdp --fsdp_config "
    "--fsdp_min_num_params --fsdp_transformer_layer_cls_to_wrap --accelerator_config --deepspeed "
    "--label_smoothing_factor --optim --optim_args --adafactor --group_by_length "
    "--length_column_name --report_to --ddp_find_unused_parameters --ddp_bucket_cap_mb "
    "--ddp_broadcast_buffers --ddp_timeout --dataloader_pin_memory "
    "--dataloader_persistent_workers --dataloader_prefetch_factor --skip_memory_metrics "
    "--use_legacy_prediction_loop --push_to_hub --resume_from_checkpoint --hub_model_id "
    "--hub_strategy --hub_token --hub_private_repo --hub_always_push --hub_revision "
    "--gradient_checkpointing --gradient_checkpointing_kwargs --include_inputs_for_metrics "
    "--include_for_metrics --auto_find_batch_size --full_determinism --torchdynamo --ray_scope "
    "--torch_compile --torch_compile_backend --torch_compile_mode --split_batches "
    "--include_tokens_per_second --include_num_input_tokens_seen --neftune_noise_alpha "
    "--optim_target_modules --batch_eval_metrics --eval_on_start --use_liger_kernel "
    "--eval_use_gather_object --average_tokens_across_devices";

constexpr const char* kRunGlue =
    "--task_name --dataset_name --dataset_config_name --max_seq_length --overwrite_cache "
    "--pad_to_max_length --max_train_samples --max_eval_samples --max_predict_samples --train_file "
    "--validation_file --test_file --model_name_or_path --config_name --tokenizer_name --cache_dir "
    "--use_fast_tokenizer --model_revision --token --use_auth_token --trust_remote_code "
    "--ignore_mismatched_sizes --do_regression --text_column_names --text_column_delimiter "
    "--train_split_name --validation_split_name --test_split_name --remove_splits "
    "--label_column_name --shuffle_train_dataset --metric_name --num_labels";

constexpr const char* kTopSpin =
    "--seed --run_tag --path_work_restored_training --experiment_folder --country_city "
    "--optimizer_name --lr --weight_decay --gpu_num --use_gpu --use_amp --path_initial_model "
    "--path_inference_model --lr_decay_strategy --warmup_ratio --ending_lr_ratio "
    "--stepwise_lr_decay_ratio --stepwise_lr_decay_epochs --param_norm --gpu_inference --batch_dim "
    "--servers_file --bucket_cap_mb --backhand --net_name --variable_batch_size "
    "--batch_size_one_gpu --iter_num_update_optimizer --train_files --vali_file --test_files "
    "--train_sample_num --eval_gap_sample_num --epoch_num --max_train_step "
    "--find_unused_parameters --model_saved_num --num_threads_cpu --num_workers_loading_data "
    "--automl_max_model_size --true_gradient --debug_level --detect_anomaly --cudnn_deterministic "
    "--cudnn_benchmark --draw_figure_frequency --draw_figure_smooth_width";

constexpr const char* kUniversal =
    "--params --data_dir --is_dev_file --mode --continue_training --continue_training_path "
    "--pretrained_model_dir --model_dir --is_distributed --use_native_fp16 "
    "--use_fairscale_optimizer_sharding --use_fairscale_model_sharding --use_fairscale_autowrap "
    "--use_fairscale_reshard_forward --num_loader_workers --batch_size --use_max_length "
    "--max_length --num_epochs --gradient_accumulation_steps --log_steps_ratio --save_steps_ratio "
    "--learning_rate --warmup_proportion --num_labels --nodes --gpus --current_node --master_addr "
    "--master_port";

constexpr const char* kBertTrainParallel =
    "-f --logfile -t --text -l --labels -e --epochs -p --preponly --started_from_launch";

constexpr const char* kGap =
    "--input_dir --train_file --val_file --output_dir --lr --epochs --per_gpu_batch_size "
    "--val_batch_size --model_type --bert_type --gradient_accumulation --sample_limit "
    "--is_distributed --world_size --backend --master_node --master_port --nprocs --start_rank "
    "--local_rank --global_rank --use_horovod --fp16 --amp_opt_level --isaml";

TEST(UnknownOption, EachOptionOfOtherTrainersIsAnswered) {
  const std::vector<std::string> none;
  EXPECT_EQ(unanswered(kHetseq, "pretrain"), none);
  EXPECT_EQ(unanswered(kTrainingArguments, "classify"), none);
  EXPECT_EQ(unanswered(kRunGlue, "classify"), none);
  EXPECT_EQ(unanswered(kTopSpin, "classify"), none);
  EXPECT_EQ(unanswered(kUniversal, "classify"), none);
  EXPECT_EQ(unanswered(kBertTrainParallel, "classify"), none);
  EXPECT_EQ(unanswered(kGap, "gap"), none);
  EXPECT_EQ(unanswered("--zzzzzz", "classify"), std::vector<std::string>{"--zzzzzz"});
}

TEST(UnknownOption, TheAnswerFitsTheOption) {
  EXPECT_EQ(hint_for({"x.csv", "--num_labels", "3"}),
            "labels are counted: each different one is a class");
  EXPECT_EQ(hint_for({"x.csv", "--lr_scheduler_type", "cosine"}), "here it is called --schedule");
  EXPECT_EQ(hint_for({"x.csv", "--text_column_names", "a"}), "here it is called --text");
  EXPECT_THAT(hint_for({"x.csv", "--report_to=none"}), HasSubstr("--tensorboard DIR"));
  EXPECT_THAT(hint_for({"runs", "runs", "--report_to=none"}), HasSubstr("--tensorboard DIR"));
}

TEST(UnknownOption, KeysOfAFileAreAnsweredToo) {
  const Scratch folder;
  const std::string config = folder.write("my.yaml", "epochs: 2\nnum_labels: 3\n");
  try {
    (void)parse_command_line({"x.csv", "--config", config});
    FAIL() << "the key is accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), concat(config, ", line 2: unknown key 'num_labels'"));
    EXPECT_EQ(error.hint(), "labels are counted: each different one is a class");
  }
  const std::string own = folder.write("own.yaml", "data: x.csv\nepochs: 2\n");
  EXPECT_NO_THROW((void)parse_command_line({"x.csv", "--config", own}));
}

TEST(UnknownOption, OneOfAnotherTaskIsNamedAsHere) {
  EXPECT_EQ(hint_for({"x.csv", "--task", "regress", "--label", "score"}),
            "in the task regress it is --target");
  EXPECT_EQ(hint_for({"x.csv", "--target", "score"}), "in the task classify it is --label");
  EXPECT_EQ(hint_for({"x.csv", "--task", "tokens", "--text", "a"}),
            "in the task tokens it is --words");
  EXPECT_EQ(hint_for({"check", "x.csv", "--mask-share", "0.2"}),
            "--mask-share is an option of --task pretrain");
  EXPECT_EQ(hint_for({"x.csv", "--task", "regress", "--focal-gamma", "2"}),
            "--focal-gamma is an option of --task classify");
}

// Every option of a command, of any task; `others`: the names that other programs give them.
std::set<std::string> known_options(bool others = false) {
  std::set<std::string> names;
  for (const std::string& task : task_names()) {
    const CommandLine line = parse_command_line({"--help=json", "--task", task});
    const Json all = Json::parse(line.instead);
    for (const Json& command : all.at("commands")) {
      for (const Json& option : command.at("options")) {
        if (!others) names.insert("--" + option.at("name").get<std::string>());
        if (!others || !option.contains("others")) continue;
        for (const Json& other : option.at("others")) {
          const auto name = other.get<std::string>();
          names.insert("--" + name.substr(0, name.find('=')));
        }
      }
    }
  }
  return names;
}

TEST(UnknownOption, AnswersNameOptionsThatExist) {
  std::set<std::string> known = known_options();
  known.insert({"--gpus", "--output"});  // of bprun
  for (const ForeignOption& row : foreign_options()) {
    for (std::string word : words_of(std::string(row.answer))) {
      while (!word.empty() && std::string(",;:.").find(word.back()) != std::string::npos) {
        word.pop_back();
      }
      if (!word.starts_with("--")) continue;
      EXPECT_TRUE(known.contains(word)) << row.answer;
    }
  }
}

TEST(UnknownOption, ANameHasOneAnswer) {
  std::set<std::string> known = known_options();
  known.merge(known_options(/*others=*/true));
  std::set<std::string> seen;
  for (const ForeignOption& row : foreign_options()) {
    for (const std::string& name : words_of(std::string(row.names))) {
      EXPECT_EQ(name, option_name(name));
      EXPECT_TRUE(seen.insert(name).second) << name << " stands in two rows";
      EXPECT_FALSE(known.contains("--" + name)) << name << " is an option of bert_train";
    }
  }
}

}  // namespace
}  // namespace bp::trainer
