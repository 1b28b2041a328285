import pickle

from benchmark.core.errors import FEW, MANY, MistakesError, did_you_mean


def test_of_many_known_names_the_close_ones_are_listed() -> None:
    few, many = (["icc", *map("filter{}".format, range(count))] for count in (MANY - 1, MANY))
    assert did_you_mean("icd", few).count(",") == MANY - 1
    assert did_you_mean("icd", many) == f"did you mean 'icc'? known: icc, {MANY} more"
    assert did_you_mean("?", many).endswith(f"filter14, filter15, {MANY + 1 - FEW} more")


def test_mistakes_of_a_worker_stay_lines() -> None:
    copied = pickle.loads(pickle.dumps(MistakesError(["a is wrong", "b is missing"])))
    assert (copied.lines, str(copied)) == (["a is wrong", "b is missing"], "a is wrong; and b is missing")
