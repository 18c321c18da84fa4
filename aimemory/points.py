"""Named points of the write paths: places at which a crash or a failing disk is tried by `tests/system/crash`.

A point's name says what has just happened. Nothing is installed here and nothing can be: the tests replace `reached`
itself, which is why callers write `points.reached(…)` and never import the function alone.
"""


def reached(name: str) -> None:
    """Does nothing; some 40 ns."""
