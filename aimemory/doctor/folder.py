"""The directory that is asked about: is what happens here recorded at all?"""

from collections.abc import Iterator

from aimemory.doctor.finding import Finding, Level, Situation


def check_folder(situation: Situation) -> Iterator[Finding]:
    mode = situation.config.capture.mode
    if mode != "full":
        yield Finding(
            "folder.settings", Level.NOTE, f"By your settings {_effect(mode)}, in every folder.",
            f"capture.mode is {mode}", fix="",
        )  # fmt: skip
    place = situation.place
    if place is None:
        return
    capture = place["capture"]
    if capture.get("off_by"):
        yield Finding(
            "folder.off", Level.NOTE, "Nothing is recorded in this folder, and no brief is given: you turned it off.",
            f"aimemory off {capture['off_by']}", fix=f"aimemory on {capture['off_by']}",
        )  # fmt: skip
    elif capture["mode"] != "full" and capture["mode"] != mode:
        yield Finding(
            "folder.rules", Level.NOTE, f"In this project {_effect(capture['mode'])}.",
            f"capture.mode is {capture['mode']} by .aimemory.toml in {place['root']}",
        )  # fmt: skip
    for problem in place["problems"]:
        yield Finding("folder.problem", Level.WARNING, problem, str(place["root"]), fix="Correct .aimemory.toml there.")


def _effect(mode: str) -> str:
    return "nothing is recorded" if mode == "off" else "only names, times and outcomes are recorded"
