# Trains the tasks on real data, to figures that others can compare with. Sourced by scripts/acceptance.

# Trains the three heads of task gap with MiniLM-L6. gap-validation chooses the epoch, and gap-test is scored once.
# docs/acceptance.md, Training: GAP's three heads with real weights reach a log loss of 0.70 or less on gap-test.
gap() {
  needs_data gap || return
  tests/oracle/setup >"$work/gap.log" 2>&1 || { verdict gap 1 "tests/oracle/setup failed"; return; }
  local head run row losses=()
  printf '%-8s %24s %6s %10s %9s %6s %9s %9s %6s\n' head 'log loss on validation' epoch 'on test' accuracy F1 \
    masculine feminine bias
  for head in concat mul segment; do
    run=$work/gap-$head
    if ! { build/bin/bert_train "$data/gap/gap-development.tsv" --task gap --dev "$data/gap/gap-validation.tsv" \
      --test "$data/gap/gap-test.tsv" --model .deps/minilm --gap-head "$head" --lr 1e-4 --epochs 3 \
      --store "$work/gap-$head.sqlite" --run "$run" &&
      build/bin/bert_train eval "$run" --checkpoint best --on test --out "$run/best.csv"; } >"$run.log" 2>&1; then
      tail -5 "$run.log"
      verdict gap 1 "the head $head did not train"
      return
    fi
    row=$(python3 tests/acceptance/gap_row.py "$head" "$run" "$data/gap/gap-test.tsv") ||
      { verdict gap 1 "the results of the head $head are wrong"; return; }
    printf '%s\n' "$row"
    losses+=("$(awk '{ print $6 }' <<<"$row")")
  done
  at_least 0.70 "${losses[0]}"
  verdict gap $? "log loss on gap-test: concat ${losses[0]} (0.70 or less), mul ${losses[1]}, segment ${losses[2]}"
}

# gap_text: prints the texts of GAP as documents, with blank lines between them.
gap_text() { for part in development test validation; do tail -n +2 "$data/gap/gap-$part.tsv" | cut -f2 | sed G; done; }

# Trains a masked language model from scratch on the text of GAP. Its loss must be under the entropy of single tokens,
# which a model reaches that knows how frequent each token of the test split is and nothing else.
# docs/acceptance.md, Training: Pre-training on the text of GAP goes below the entropy of single tokens within 5
# minutes.
pretrain() {
  needs_data pretrain || return
  gap_text >"$work/gap.txt"
  local begin=$SECONDS entropy loss
  if ! build/bin/bert_train "$work/gap.txt" --task pretrain --model tiny --vocab-size 8000 --max-length 128 \
    --epochs 11 --batch 16 --lr 2e-3 --run "$work/pretrain" >"$work/pretrain.log" 2>&1; then
    tail -5 "$work/pretrain.log"
    verdict pretrain 1 "it did not train"
    return
  fi
  local seconds=$((SECONDS - begin))
  entropy=$(python3 tests/acceptance/token_entropy.py "$work/gap.sqlite")
  loss=$(json "$work/pretrain/summary.json" 'j["test"]["loss"]')
  at_least "$entropy" "$loss" && at_least 300 "$seconds"
  verdict pretrain $? "test loss ${loss:0:6} (entropy of single tokens: $entropy) after $seconds s (300 or less)"
}

# Adapts a masked language model to another domain. MiniLM-L6 has no decoder, so it first learns one on the text of GAP.
# Then SST-2's text must lower its loss on SST-2's dev texts.
# docs/acceptance.md, Training: Further pre-training on the text of SST-2 lowers the loss on other texts of SST-2.
adapt() {
  needs_data adapt || return
  tests/oracle/setup >"$work/adapt.log" 2>&1 || { verdict adapt 1 "tests/oracle/setup failed"; return; }
  gap_text >"$work/general.txt"
  local part common=(--task pretrain --lines --max-length 64 --lr 2e-4) before after
  for part in train dev; do cut -f1 "$data/sst2/sentiment-$part" >"$work/sst2-$part.txt"; done
  if ! { build/bin/bert_train "$work/general.txt" "${common[@]}" --model .deps/minilm --steps 300 \
    --run "$work/general" &&
    build/bin/bert_train "$work/sst2-train.txt" "${common[@]}" --model "$work/general/model" --steps 300 \
      --run "$work/adapted" &&
    build/bin/bert_train eval "$work/general" "$work/sst2-dev.txt" >"$work/before.txt" &&
    build/bin/bert_train eval "$work/adapted" "$work/sst2-dev.txt" >"$work/after.txt"; } >"$work/adapt.log" 2>&1; then
    tail -5 "$work/adapt.log"
    verdict adapt 1 "it did not train"
    return
  fi
  before=$(sed -n 's/.*sst2-dev.txt: loss \([0-9.]*\),.*/\1/p' "$work/before.txt")
  after=$(sed -n 's/.*sst2-dev.txt: loss \([0-9.]*\),.*/\1/p' "$work/after.txt")
  at_least "$before" "$after"
  verdict adapt $? "loss on SST-2's dev texts $before before 300 steps on its train texts, $after after them"
}
