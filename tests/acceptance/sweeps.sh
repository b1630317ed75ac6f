# Sweeps of bert_train: killed at any moment, and with a rule that stops weak trials. Sourced by scripts/acceptance.

# Kills a sweep's driver, its trials and the agent of a host at 20 moments that a seed determines.
# docs/features.md, Searches: A search resumed, also after `kill -9` or a lost host | the same command
sweep_kills() {
  needs_data sweep_kills || return
  local status=0
  mkdir "$work/sweep_kills"
  head -400 "$data/sst2/sentiment-train" >"$work/sweep_kills/train.tsv"
  head -100 "$data/sst2/sentiment-dev" >"$work/sweep_kills/dev.tsv"
  tests/acceptance/sweep_kills.py build/bin "$work/sweep_kills" -- "$work/sweep_kills/train.tsv" \
    --dev "$work/sweep_kills/dev.tsv" --text 1 --label 2 --vocab "$data/bert-base-uncased/vocab.txt" --model tiny \
    --epochs 1 --save-every 10 --store "$work/sweep_kills/store.sqlite" >"$work/sweep_kills.log" 2>&1 || status=1
  verdict sweep_kills "$status" "$(tail -1 "$work/sweep_kills.log")"
}

# Compares random search in full with ASHA and median stopping, and prints the table of docs/sweep.md.
# docs/features.md, Searches: Weak trials stopped | `stop: median`, `stop: asha`
sweep_asha() {
  needs_data sweep_asha || return
  local status=0
  mkdir "$work/sweep_asha"
  tests/acceptance/sweep_asha.py build/bin "$data" "$work/sweep_asha" >"$work/sweep_asha.log" || status=1
  sed '$d' "$work/sweep_asha.log"
  verdict sweep_asha "$status" "$(tail -1 "$work/sweep_asha.log")"
}
