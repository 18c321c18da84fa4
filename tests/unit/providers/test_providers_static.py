"""Static vectors, from the real files."""

import subprocess
import sys

import pytest
from embeddings import clean

from aimemory.errors import Unavailable
from aimemory.providers.static import StaticModel, joined, parted, wheel_folder
from aimemory.providers.vectors import best_cosine, packed

TEXTS = (
    "how the car is repaired", "mending an automobile", "a recipe for bread with rye flour", "the the the of the car",
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return StaticModel(wheel_folder())


def test_what_means_the_same_is_nearer(model):
    tokens = model.tokens(clean(*TEXTS))
    car, automobile, bread, _ = model.vectors(tokens, model.count(tokens).weights())

    assert car @ automobile > car @ bread + 0.1


def test_rare_tokens_count_for_more(model):
    many = model.tokens(clean(*(f"the {word}" for word in ("house", "tree", "river", "road") * 20), "car"))
    weights = model.count(many).weights()
    the, car = (tokens[0] for tokens in model.tokens(clean("the", "car")))

    assert weights[the] < 0.05 < 3 < weights[car] <= 8


def test_tokens_are_stored_and_read_back(model):
    tokens = model.tokens(clean(*TEXTS, "", "中文 and emoji 🦊"))

    assert [part.tolist() for part in parted(joined(tokens))] == [part.tolist() for part in tokens]
    assert parted(b"") == []


def test_bytes_that_are_no_vectors_have_no_cosine(model):
    tokens = model.tokens(clean(*TEXTS))
    vectors = model.vectors(tokens, model.count(tokens).weights())

    assert best_cosine(vectors[0], packed(vectors)) == pytest.approx(1, abs=0.01)
    assert best_cosine(vectors[0], packed(vectors)[:-2]) is None
    assert best_cosine(vectors[0], b"") is None
    assert best_cosine(vectors[0], b"\xff\xff" * 256) is None  # no number


def test_files_that_are_something_else_are_refused(tmp_path):
    for name in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((wheel_folder() / name).read_bytes())
    StaticModel(tmp_path)
    weights = tmp_path / "weights/l2_supercat_256.safetensors"
    for damaged in (weights.read_bytes()[:-10], b"", b"\xff" * 100):
        weights.write_bytes(damaged)
        with pytest.raises(Unavailable):
            StaticModel(tmp_path)


@pytest.mark.promise("P5.351")
def test_it_opens_no_connection_and_runs_none_of_the_wheels_code():
    code = """
import sys
def forbid(event, arguments):
    if event.startswith("socket.") or event.startswith("subprocess."):
        raise SystemExit(event)
sys.addaudithook(forbid)
from aimemory.privacy import sanitize
from aimemory.providers.static import StaticModel, wheel_folder
model = StaticModel(wheel_folder())
tokens = model.tokens([sanitize("a text")])
print(model.vectors(tokens, model.count(tokens).weights()).shape)
print(sorted({"wordllama", "requests", "httpx", "huggingface_hub"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)

    assert done.stdout == "(1, 256)\n[]\n", done.stderr
