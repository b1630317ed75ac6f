"""Optuna's way to run many trials at once: processes that share a study in SQLite. optuna_pool.py TRIALS PROCESSES FILE
runs /bin/true in every trial."""

import multiprocessing
import subprocess
import sys

import optuna


def objective(trial):
    trial.suggest_int("i", 1, 1_000_000)
    return subprocess.run(["/bin/true"], check=True).returncode


def work(trials, url):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name="bench", storage=url, sampler=optuna.samplers.RandomSampler())
    study.optimize(objective, n_trials=trials)


def main():
    trials, processes, url = int(sys.argv[1]), int(sys.argv[2]), f"sqlite:///{sys.argv[3]}"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.create_study(study_name="bench", storage=url)
    pool = [multiprocessing.Process(target=work, args=(trials // processes, url)) for _ in range(processes)]
    for process in pool:
        process.start()
    for process in pool:
        process.join()
    study = optuna.load_study(study_name="bench", storage=url)
    done = sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)
    sys.exit(0 if done == trials else f"{done} of {trials} trials are complete")


if __name__ == "__main__":
    main()
