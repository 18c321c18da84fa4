"""`Sanitized` can't be forged, can't leak through its text form, and can't be changed."""

import ast
import copy
import pickle
from pathlib import Path

import pytest

import aimemory
from aimemory.privacy import Sanitized, sanitize

PACKAGE = Path(aimemory.__file__).parent


@pytest.mark.promise("P4.1")
def test_only_the_gate_makes_a_sanitized_value():
    with pytest.raises(TypeError):
        Sanitized("text", {}, object())


@pytest.mark.promise("P4.1")
def test_only_the_privacy_package_names_the_seal():
    naming = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if "PRIVACY_SEAL" in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
    }

    assert naming == {"privacy"}


def test_text_forms_show_counts_and_never_content():
    value = sanitize("diary of today; password=hunter2xyz")

    for shown in (repr(value), str(value), f"{value}"):
        assert "diary" not in shown
        assert "password: 1" in shown


def test_it_is_no_string_and_joins_none():
    with pytest.raises(TypeError):
        "note: " + sanitize("x")  # type: ignore[operator]
    with pytest.raises(TypeError):
        "".join([sanitize("x")])  # type: ignore[list-item]


def test_derived_values_stay_sanitized_and_keep_their_counts():
    value = sanitize("first password=hunter2xyz")

    derived = value.derive(lambda text: text.split()[0])

    assert isinstance(derived, Sanitized)
    assert derived.value == "first"
    assert derived.counts == {"password": 1}


def test_it_can_be_neither_changed_nor_copied_nor_pickled():
    value = sanitize("x")

    with pytest.raises(AttributeError):
        value._value = "y"  # type: ignore[misc]
    with pytest.raises(TypeError):
        value.counts["password"] = 0  # type: ignore[index]
    for leave in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            leave(value)


def test_it_has_no_subclass():
    with pytest.raises(TypeError):
        type("Loose", (Sanitized,), {})
