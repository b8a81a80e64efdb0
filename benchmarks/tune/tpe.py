"""Optuna's TPE on the simulated servers of experiment/tune: GPU-seconds to the regret of a race.

    TUNE=0-300 TUNE_SERVERS=servers.json go test -run Certificate ./experiment/tune
    python -m venv v && v/bin/pip install optuna && v/bin/python benchmarks/tune/tpe.py servers.json

Each trial is a full search with its start; a setting that was measured is not measured again, which costs nothing.
A server that does not start costs its start, and is told to TPE as the lowest value so far.
"""
import json
import random
import statistics
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def run(server, seed):
    """GPU-seconds after each trial, with the true regret of the setting that is observed to be the best."""
    rng = random.Random(seed)
    knobs, truth = server["knobs"], server["truth"]
    best = max(x for x in truth if x is not None)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=5))
    first = {f"k{i}": 0 for i in range(len(knobs))}
    study.enqueue_trial(first)  # the default
    seen, spent, steps, top = {}, 0.0, [], None
    for _ in range(6 * len(truth)):
        trial = study.ask()
        at = 0
        for i, values in enumerate(knobs):
            at = at * values + trial.suggest_categorical(f"k{i}", list(range(values)))
        if at not in seen:
            spent += server["start_s"]
            if truth[at] is None:
                seen[at] = min((x for x in seen.values()), default=-1.0) - 0.1
            else:
                spent += server["search_s"]
                seen[at] = truth[at] + rng.gauss(0, server["sd"])
                if top is None or seen[at] > seen[top]:
                    top = at
            steps.append((spent, best - truth[top] if top is not None else float("inf")))
        study.tell(trial, seen[at])
        if len(seen) == len(truth):
            break
    return steps


def main():
    servers = json.load(open(sys.argv[1]))
    at_end, to_regret, never, race, tpe_regret = 0.0, 0.0, 0, 0.0, []
    for server in servers:
        steps = run(server, server["seed"])
        race += server["spent_s"]
        reached = [spent for spent, regret in steps if regret <= server["regret"] + 1e-9]
        never += not reached
        to_regret += reached[0] if reached else steps[-1][0]
        at_end += steps[-1][0]
        within = [regret for spent, regret in steps if spent <= server["spent_s"]]
        tpe_regret.append(within[-1] if within else steps[0][1])
    n = len(servers)
    print(f"{n} servers: a race takes {race / n:.0f} s each, with its confirmation and certificate, and has a regret of "
          f"{100 * statistics.mean(s['regret'] for s in servers):.2f} %; its best setting is the final one after "
          f"{statistics.mean(s['reached_s'] for s in servers):.0f} s")
    print(f"TPE: {to_regret / n:.0f} s each until its best setting first has that regret (never for {never} within the "
          f"trials); after the race's whole time its regret is {100 * statistics.mean(tpe_regret):.2f} %")


main()
