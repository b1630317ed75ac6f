# Whole runs of bert_train: from a fresh clone, on real data, killed at any moment, and on a full disk. Sourced by
# scripts/acceptance.

# Sets up a fresh clone and trains by the README's first command.
# docs/acceptance.md, Training: A fresh clone trains by README's first command.
quickstart() {
  git clone --quiet . "$work/clone"
  local begin=$SECONDS status=0
  (cd "$work/clone" && ./scripts/quickstart) >"$work/quickstart.log" 2>&1 || status=$?
  if ((status)); then
    tail -5 "$work/quickstart.log"
    verdict quickstart 1 "exit $status"
    return
  fi
  local accuracy
  accuracy=$(json "$work/clone/runs/quickstart/summary.json" 'j["test"]["accuracy"]')
  at_least "$accuracy" 0.90
  verdict quickstart $? "test accuracy $accuracy (0.90 or more) in $((SECONDS - begin)) s from the clone on"
}

# Trains on SST-2 with 3+1 ranks and three seeds. Checks the dev accuracy, that each row is used once per epoch, and
# that the predictions do not depend on the number of ranks.
# docs/acceptance.md, Training: A small BERT learns SST-2 from scratch on 3+1 ranks with three seeds, uses each row once
# an epoch, and has the same predictions on any number of ranks.
sst2() {
  needs_data sst2 || return
  local seed run
  for seed in 1 2 3; do
    run=$work/sst2-$seed
    if ! build/bin/bprun -H localhost:3,127.0.0.1:1 bert_train "$data/sst2/sentiment-train" \
      --dev "$data/sst2/sentiment-dev" --test "$data/sst2/sentiment-test" --text 1 --label 2 \
      --vocab "$data/bert-base-uncased/vocab.txt" --model tiny --epochs 3 --batch 32 --seed "$seed" \
      --store "$work/sst2.sqlite" --run "$run" --trace "$run-trace" >"$run.log" 2>&1; then
      tail -5 "$run.log"
      verdict sst2 1 "seed $seed did not train"
      return
    fi
  done
  local median
  median=$(for seed in 1 2 3; do json "$work/sst2-$seed/summary.json" 'j["dev"]["accuracy"]'; done | sort -g | sed -n 2p)
  at_least "$median" 0.80
  verdict sst2_accuracy $? "median dev accuracy of seeds 1 to 3: $median (0.80 or more)"

  local status=0
  tests/e2e/check_trace.py "$work/sst2-1-trace" "$work/sst2.sqlite" 3 >"$work/trace.log" 2>&1 || status=$?
  verdict sst2_samples "$status" "$(tail -1 "$work/trace.log")"

  local world same=0
  cp "$work/sst2-1/predictions.csv" "$work/predictions.4"
  for world in 1 3; do
    build/bin/bprun -n "$world" bert_train eval "$work/sst2-1" --out "$work/predictions.$world" >"$work/eval.log" 2>&1 || { tail -3 "$work/eval.log"; same=1; }
    cmp -s "$work/predictions.4" "$work/predictions.$world" || same=1
  done
  [[ $(wc -l <"$work/predictions.4") == 1822 ]] || same=1
  verdict sst2_predictions "$same" "1,821 rows, equal for 1, 3 and 4 evaluating ranks"
}

# Kills bprun, one rank, or all processes of a run on four ranks at 20 moments that a seed determines. The same command
# resumes the run each time. In the end its parameters must equal those of an undisturbed run.
# docs/acceptance.md, Runs: 20 times kill -9 of bprun, of a rank or of all, in one run, leave the parameters of an
# undisturbed run.
resume() { kill_and_resume resume -H localhost:3,127.0.0.1:1; }
# The ranks of one host share the weights, and some are killed while they write them.
resume_shared() { kill_and_resume resume_shared -n 4; }

kill_and_resume() {  # kill_and_resume CHECK PLACES...
  local check=$1
  shift
  needs_data sst2 || return
  local mark=BP_ACCEPTANCE=$$-$check run=$work/$check whole=$work/$check-undisturbed status=0 kills=0 resumed=0
  local command=(build/bin/bprun "$@" sh -c 'echo $$ >"$0.$RANK"; exec "$@"' "$work/pid"
    "$PWD/build/bin/bert_train" "$data/sst2/sentiment-train" --dev "$data/sst2/sentiment-dev"
    --text 1 --label 2 --vocab "$data/bert-base-uncased/vocab.txt" --model tiny --epochs 2 --batch 32
    --save-every 50 --store "$work/resume.sqlite")
  "${command[@]}" --run "$whole" >"$work/resume.log" 2>&1 || { tail -5 "$work/resume.log"; status=1; }

  local moment victim job deadline
  # Each line has the step to wait for, the seconds to wait then, and what to kill; sorted by step.
  while read -r moment pause victim; do
    rm -f "$work"/pid.*
    env "$mark" "${command[@]}" --run "$run" >"$work/resume.log" 2>&1 </dev/null &
    job=$!
    until (($(last_step "$run/metrics.jsonl") >= moment && $(cat "$work"/pid.* 2>/dev/null | wc -l) == 4)); do
      kill -0 "$job" 2>/dev/null || { tail -5 "$work/resume.log"; status=1; break; }
      sleep 0.05
    done
    sleep "$pause"
    grep -q 'resuming from' "$work/resume.log" && resumed=$((resumed + 1))
    case $victim in
      bprun) kill -KILL "$job" ;;
      all) marked "$mark" | xargs -r kill -KILL ;;
      *) kill -KILL "$(<"$work/pid.$victim")" ;;
    esac 2>/dev/null
    wait "$job" 2>/dev/null
    kills=$((kills + 1))
    deadline=$((SECONDS + 20))
    while [[ -n $(marked "$mark") ]] && ((SECONDS < deadline)); do sleep 0.05; done
  done < <(python3 -c '
import random
draw = random.Random(20)
for step in sorted(draw.sample(range(2, 1000), 20)):
    print(step, round(draw.uniform(0, 0.3), 3), draw.choice(["bprun", "all", "0", "1", "2", "3"]))')
  "${command[@]}" --run "$run" >"$work/resume.log" 2>&1 || { tail -5 "$work/resume.log"; status=1; }
  cmp "$whole/model/model.safetensors" "$run/model/model.safetensors" || status=1
  ((kills == 20 && resumed >= 10)) || status=1
  verdict "$check" "$status" "killed $kills times, $resumed of them in a run that had resumed from a checkpoint; parameters bit-equal to the undisturbed run's"
}

# Kills ranks of runs that divide the training state among the ranks of one host, and of two, some of them while rank 0
# writes a checkpoint.
# docs/acceptance.md, Runs: 20 times kill -9 of a rank, half of them while a checkpoint is written, leave a run with any
# --shard the checkpoints and the model of an undisturbed run.
resume_divided() {
  local shard places
  for places in "-n 2" "-H localhost:2,127.0.0.1:1"; do
    for shard in optimizer gradients parameters; do
      local status=0
      # shellcheck disable=SC2086
      OMP_NUM_THREADS=1 tests/acceptance/shard_kills.py build/bin "$work/divided" -- $places -- examples/reviews.csv \
        --text review --label label --model tiny --batch 12 --max-length 24 --store "$work/divided.sqlite" \
        --shard "$shard" >"$work/divided.log" 2>&1 || status=$?
      verdict resume_divided "$status" "$places --shard $shard: $(tail -1 "$work/divided.log")"
      rm -r "$work/divided"
    done
  done
}

# Measures rank 0 of base on two hosts that divide the training state.
# docs/acceptance.md, Runs: While rank 0 writes a checkpoint of base that hosts divide, it takes at most 64 MiB more.
saving_memory() {
  local shard
  for shard in optimizer gradients parameters; do
    local status=0
    OMP_NUM_THREADS=1 tests/acceptance/saving_memory.py build/bin "$work/saving" -- -H localhost:1,127.0.0.1:1 -- \
      examples/reviews.csv --text review --label label --model base --batch 2 --max-length 16 \
      --store "$work/saving.sqlite" --shard "$shard" >"$work/saving.log" 2>&1 || status=$?
    verdict saving_memory "$status" "--shard $shard: $(tail -1 "$work/saving.log")"
    rm -r "$work/saving"
  done
}

# Lets allocations of a fake GPU fail at 200 places of passes. The test that does so runs with 20.
device_memory() {
  local status=0
  BP_MEMORY_PLACES=200 build/tests/e2e_gpu --gtest_filter=GpuMemory.AllocationsMayFailAnywhere \
    >"$work/device_memory.log" 2>&1 || status=1
  verdict device_memory "$status" "$(grep ' places in passes' "$work/device_memory.log" || tail -1 "$work/device_memory.log")"
}

# Kills bert_train prep of 673,490 rows at 20 moments that a seed determines. Counts how often it continued what a
# killed one had left, and checks that the store has the same bytes as one made without interruption.
# docs/acceptance.md, Data: 20 times kill -9 during a preparation leave a store with the bytes of an undisturbed one.
prepare() {
  needs_data prepare || return
  local whole=$work/whole.sqlite store=$work/killed.sqlite kills=0 status=0 begin took copy
  for copy in {1..10}; do sed "s/^/$copy /" "$data/sst2/sentiment-train"; done >"$work/ten.tsv"
  local -a prep=(build/bin/bert_train prep "$work/ten.tsv" --text 1 --label 2)
  begin=${EPOCHREALTIME/./}
  "${prep[@]}" --store "$whole" >"$work/prepare.log" 2>&1 || status=1
  took=$((${EPOCHREALTIME/./} - begin))
  RANDOM=17
  while ((kills < 20 && status == 0)); do
    "${prep[@]}" --store "$store" >>"$work/killed.log" 2>&1 &
    sleep "$(awk -v t="$took" -v r="$RANDOM" 'BEGIN { print t / 1e6 * (0.1 + 0.8 * r / 32767) }')"
    kill -KILL $! 2>/dev/null && kills=$((kills + 1))
    wait $! 2>/dev/null
    [[ -e $store ]] && { cmp -s "$whole" "$store" || status=1; rm "$store"; }
  done
  "${prep[@]}" --store "$store" >>"$work/killed.log" 2>&1 || status=1
  cmp -s "$whole" "$store" || status=1
  [[ -z $(ls "$work" | grep -E 'killed.sqlite.') ]] || status=1
  local resumed
  resumed=$(grep -c 'continuing where' "$work/killed.log")
  ((resumed > 0)) || status=1
  verdict prepare "$status" "killed $kills times, continued $resumed times; the store has the same bytes as one made without interruption"
}

# Fills the disk under a run. The run must report it in one line, end with code 70 and leave the last checkpoint
# intact. Once there is room again, the same command must end with the parameters of an undisturbed run.
# docs/acceptance.md, Disks and power: A disk that fills up while a checkpoint is written leaves the one before, also
# where hosts divide the training state.
disk_full() { fill_disk disk_full; }
# The ranks of two hosts divide the training state, and rank 0 gets the parts of the others while it writes.
disk_full_divided() { fill_disk disk_full_divided build/bin/bprun -H localhost:2,127.0.0.1:1; }

fill_disk() {  # fill_disk CHECK [BPRUN PLACES...]
  local check=$1 status=0
  shift
  if ! unshare -rm mount -t tmpfs none "$work" 2>/dev/null; then
    verdict "$check" 77 "a small disk cannot be mounted here"
    return
  fi
  mkdir -p "$work/small"
  unshare -rm bash -s "$work" "$PWD" "$@" >"$work/disk_full.log" 2>&1 <<'SCRIPT' || status=$?
set -uo pipefail
export OMP_NUM_THREADS=1  # ranks of several threads each would be very slow on a busy machine
work=$1 run=$1/small/run root=$2
shift 2
mount -t tmpfs -o size=64m none "$work/small" || exit 1
# shellcheck disable=SC2206
train=("$@" "$root/build/bin/bert_train" "$root/examples/reviews.csv" --text review --label label --max-length 32
  --steps 120 --save-every 20 --store "$work/disk_full.sqlite" ${1:+--shard optimizer})
rm -rf "$work/disk_full"
"${train[@]}" --run "$work/disk_full" </dev/null >"$work/one.log" 2>&1 || { cat "$work/one.log"; exit 1; }
"${train[@]}" --run "$run" </dev/null >"$work/two.log" 2>&1 &
until [[ -e $run/checkpoints/step-20 ]]; do kill -0 $! || exit 1; sleep 0.02; done
dd if=/dev/zero of="$work/small/filler" bs=64k 2>/dev/null
wait $!
code=$?
sed -n 's/^\[0\] //; /^bert_train: /p' "$work/two.log"
[[ $code == 70 && $(grep -cE '^(\[0\] )?bert_train: .*No space left' "$work/two.log") == 1 ]] || { echo "exit $code"; exit 1; }
rm "$work/small/filler"
"${train[@]}" --run "$run" </dev/null >"$work/three.log" 2>&1 || { tail -5 "$work/three.log"; exit 1; }
grep 'resuming from' "$work/three.log" || exit 1
cmp "$run/model/model.safetensors" "$work/disk_full/model/model.safetensors"
SCRIPT
  verdict "$check" "$status" "$(grep '^bert_train: ' "$work/disk_full.log" || tail -1 "$work/disk_full.log")"
}

# Trains with each pair of values of seven settings on several ranks, and in one process to compare with.
# docs/acceptance.md, Training: Each pair of values of seven settings trains on several ranks what it trains in one
# process.
pairwise() {
  local status=0
  mkdir "$work/pairwise"
  tests/acceptance/pairwise.py build/bin "$work/pairwise" >"$work/pairwise.log" 2>&1 || status=$?
  cat "$work/pairwise.log"
  verdict pairwise "$status" "$(tail -1 "$work/pairwise.log")"
}
