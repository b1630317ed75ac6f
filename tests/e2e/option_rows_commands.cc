#include "tests/e2e/option_rows.h"

namespace bp::trainer::test {

std::vector<OptionRow> output_rows() {
  const std::string again = kEpochs + "--epochs 1 --resume base ";
  const std::string steps = kTrain + "--save-every 1 --keep 1 ";
  const std::string first = "t/checkpoints/step-1/state.json";
  const std::string second = "t/checkpoints/step-2/state.json";
  return {
      {.covers = "run",
       .arguments = kEpochs + "--steps 3",
       .says = "model   t/model\n",
       .weights = Weights::same,
       .file = "t/report.html"},
      {"resume", again, "resuming from base/checkpoints/step-3", Weights::other},
      {"reset-schedule", again + "--reset-schedule", "the schedule begins again"},
      {"reset-optimizer", again + "--reset-optimizer", "the optimizer begins again"},
      {"reset-data", again + "--reset-data", "the data begins again"},
      {"reset-meters", again + "--reset-meters", "totals and best scores begin again"},
      {.covers = "save-every keep",
       .arguments = kTrain + "--save-every 1 --keep 2",
       .weights = Weights::same,
       .file = second,
       .absent = first},
      {.covers = "keep-every",
       .arguments = steps + "--keep-every 2",
       .weights = Weights::same,
       .file = second,
       .absent = first},
      {.covers = "keep-best",
       .arguments = steps + "--eval-every 1 --keep-best 3",
       .weights = Weights::same,
       .file = first},
      {.covers = "no-optimizer-state",
       .arguments = kTrain + "--no-optimizer-state",
       .weights = Weights::same,
       .file = "t/checkpoints/latest/state.json",
       .absent = "t/checkpoints/latest/optimizer.safetensors"},
      {.covers = "trace",
       .arguments = kTrain + "--trace traces",
       .weights = Weights::same,
       .file = "traces/rank-0.json",
       .holds = {"\"compute\""}},
      {.covers = "tensorboard",
       .arguments = kTrain + "--tensorboard events; ls events",
       .says = "events.out.tfevents",
       .weights = Weights::same},
      {.covers = "runs-db",
       .arguments = kTrain + "--runs-db runs.sqlite",
       .weights = Weights::same,
       .file = "runs.sqlite",
       .holds = {"SQLite format 3"}},
      {"help", "--help output", "--keep-every N"},
      {"version", "--version", "bert_train 0."},
      {"completion", "--completion bash", "complete "},
  };
}

std::vector<OptionRow> task_rows() {
  const std::string pretrain =
      "runs.txt --task pretrain --model shape --vocab words.txt --max-length 16 --batch 8 --steps "
      "2 "
      "--store p.sqlite --run t ";
  const std::string prep = "prep runs.txt --task pretrain --vocab words.txt --max-length 16 ";
  return {
      {"task target",
       "numbers.csv --task regress --target n --model shape --max-length 16 --steps 1 --run t",
       ", a number) on "},
      {"words tags", "check words.csv --task tokens --words sentence --tags marks", "PER"},
      {"word-column tag-column", "check words.conll --task tokens --word-column 2 --tag-column 1",
       "PER"},
      {.covers = "gap-head",
       .arguments = "prep pronouns.tsv --task gap --gap-head segment --store g.sqlite",
       .file = "g.sqlite",
       .holds = {"those of the mentions"}},
      {"lines", prep + "--lines --store lines.sqlite", "prepared 1,200 rows"},
      {.covers = "mask-share whole-words",
       .arguments = pretrain + "--mask-share 0.5 --whole-words",
       .file = "t/config.yaml",
       .holds = {"mask-share: 0.5", "whole-words: true"}},
      {.covers = "static-masks",
       .arguments = pretrain + "--static-masks",
       .file = "t/config.yaml",
       .holds = {"static-masks: true"}},
      {.covers = "next-sentence line copies",
       .arguments = prep + "--next-sentence --line sentence --copies 2 --store next.sqlite",
       .says = "prepared ",
       .file = "next.sqlite",
       .holds = {"next_sentence"}},
      {"limit-files",
       "prep shards --task pretrain --next-sentence --vocab words.txt --max-length 16 "
       "--limit-files 1 --store first.sqlite",
       "prepared 2,000 rows"},
  };
}

std::vector<OptionRow> shard_rows() {
  const std::string make = "shards runs.txt --vocab words.txt --max-length 16 --out made ";
  const std::string made = "made/training_0000.hdf5";
  const std::string base = "shards/training_0000.hdf5";
  return {
      {.covers = "shards/vocab shards/out shards/rows shards/name shards/max-length",
       .arguments = make + "--rows 2000 --name part",
       .says = "made: 7,197 instances in 4 shards",
       .file = "made/part_0003.hdf5"},
      {"shards/line", "shards two.txt --vocab words.txt --out made --line paragraph",
       "of 20 documents with 80 sentences"},
      {"shards/copies", make + "--copies 3", "made: 2,"},
      {.covers = "shards/short-share",
       .arguments = make + "--rows 2000 --short-share 0.9",
       .file = made,
       .unlike = base},
      {.covers = "shards/mask-share",
       .arguments = make + "--rows 2000 --mask-share 0.5",
       .file = made,
       .unlike = base},
      {.covers = "shards/most-masked",
       .arguments = make + "--rows 2000 --most-masked 1",
       .file = made,
       .unlike = base},
      {.covers = "shards/seed",
       .arguments = make + "--rows 2000 --seed 9",
       .file = made,
       .unlike = base},
      // The words are pieces of their own, in lower case.
      {.covers = "shards/whole-words shards/cased",
       .arguments = make + "--rows 2000 --whole-words --cased",
       .file = made,
       .like = base},
  };
}

std::vector<OptionRow> command_rows() {
  const std::string on_data =
      "data.csv --model shape --max-length 16 --batch 8 --measured-steps 2 ";
  return {
      {.covers = "estimate/measured-steps estimate/out",
       .arguments = "estimate " + on_data + "--out e.json",
       .says = "(mean of 2)",
       .file = "e.json",
       .holds = {"\"seconds\""}},
      {"estimate/parameter-table", "estimate " + on_data + "--parameter-table", "\nlayer 1 "},
      {.covers = "scale/measured-steps scale/hosts scale/worlds scale/out",
       .arguments = "scale " + on_data + "--worlds 1,2 --hosts localhost --out scaled",
       .says = "\n2          2 ",
       .file = "scaled/scaling.csv"},
      {.covers = "eval/on eval/out",
       .arguments = "eval base --on train --out e.csv",
       .says = "train: accuracy",
       .file = "e.csv",
       .holds = {"sample_id,"}},
      {"eval/checkpoint eval/task", "eval base --checkpoint step-3 --task classify",
       "test: accuracy"},
      {.covers = "predict/on predict/out",
       .arguments = "predict base data.sqlite --on dev --out p.csv",
       .says = "predicted 6 samples",
       .file = "p.csv",
       .holds = {"sample_id,"}},
      {"predict/checkpoint predict/task",
       "predict base data.csv --checkpoint latest --task classify", "sample_id,text_id"},
      {"predict/out-format", "predict base data.csv --out-format jsonl", "{\"sample_id\": 1"},
      {"predict/on-error", "predict base - --on-error skip < broken.txt",
       "its prediction is empty"},
      {.covers = "export/out export/int8",
       .arguments = "export base --out m.onnx --int8",
       .says = "wrote m.onnx: int8",
       .file = "m.onnx"},
      {.covers = "export/task export/checkpoint",
       .arguments = "export base --task classify --checkpoint best --out n.onnx",
       .says = "wrote n.onnx: fp32",
       .file = "n.onnx"},
      {.covers = "merge/out merge/task merge/checkpoint",
       .arguments = "merge adapted --out merged --checkpoint latest --task classify",
       .says = "wrote merged",
       .file = "merged/model.safetensors"},
      {.covers = "report/out report/parameter-table",
       .arguments = "report base --out base.html --parameter-table",
       .says = "\nlayer 1 ",
       .file = "base.html"},
      {"runs/sort runs/out-format", "runs . --sort accuracy --out-format csv", "run,state,why"},
  };
}

}  // namespace bp::trainer::test
