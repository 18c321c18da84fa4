"""An endpoint for vectors: a real server on loopback."""

import json
import threading

import pytest
from embeddings import StandIn, clean

from aimemory.config import load_config
from aimemory.errors import Unavailable, UserError
from aimemory.privacy import sanitize
from aimemory.providers.choose import choose, load
from aimemory.providers.endpoint import Endpoint, Place

LIMIT_S = 20.0


@pytest.fixture
def stand_in():
    server = StandIn()
    yield server
    server.close()


def test_vectors_come_in_the_order_of_the_texts(stand_in):
    endpoint = Endpoint(Place(stand_in.url, "small"), LIMIT_S)
    one, other, again = endpoint.embed(clean("red fox", "blue whale song", "red fox"), LIMIT_S)

    assert endpoint.model.dimension == 32
    assert one @ one == pytest.approx(1) and one.tolist() == again.tolist() != other.tolist()
    assert stand_in.requests[-1]["model"] == "small"


@pytest.mark.promise("P4.350")
def test_what_leaves_passes_the_boundary_once_more(stand_in):
    """Also what another, laxer boundary let through."""
    token = "ghp_" + "Zk4mQ9vT2xW8bN6cR1yH5jL3pD7sF0aG2eUi"
    endpoint = Endpoint(Place(stand_in.url, "small"), LIMIT_S)
    endpoint.embed([sanitize("").derive(lambda _: f"export TOKEN={token}")], LIMIT_S)

    assert token not in stand_in.sent[-1] and "redacted" in stand_in.sent[-1]


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"{}", b'{"data": []}', b'{"data": [{"index": 0, "embedding": []}]}', b"[" * 100_000,
        b'{"data": [{"index": 0, "embedding": ["a"]}]}', b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}',
    ],
    ids=range(9),
)  # fmt: skip
def test_an_answer_that_is_none_is_said(stand_in, answer):
    stand_in.answer = answer
    with pytest.raises(Unavailable):
        Endpoint(Place(stand_in.url, "small"), LIMIT_S)


def test_another_length_a_redirect_and_an_error_are_said(stand_in):
    endpoint = Endpoint(Place(stand_in.url, "small"), LIMIT_S)
    stand_in.dimension = 8
    with pytest.raises(Unavailable, match="another length"):
        endpoint.embed(clean("a"), LIMIT_S)
    for status in (302, 401, 500):
        stand_in.status = status
        with pytest.raises(Unavailable, match=str(status)):
            endpoint.embed(clean("a"), LIMIT_S)


def test_a_silent_one_is_given_up_and_a_stop_ends_the_wait(stand_in):
    endpoint = Endpoint(Place(stand_in.url, "small"), LIMIT_S)
    stand_in.pause = threading.Event()
    with pytest.raises(Unavailable):
        endpoint.embed(clean("a"), 0.2)
    said = []

    def ask():
        try:
            endpoint.embed(clean("b"), 600)
        except Unavailable as error:
            said.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    while "b" not in stand_in.sent:
        waiting.join(0.01)
    endpoint.close()
    waiting.join(60)
    assert len(said) == 1
    with pytest.raises(Unavailable):
        endpoint.embed(clean("c"), LIMIT_S)
    assert "c" not in stand_in.sent


def test_the_key_is_sent_and_must_be_the_owners_alone(stand_in, tmp_path):
    settings = recall(tmp_path, vectors="endpoint", endpoint=stand_in.url, model="small")
    key = tmp_path / "key"
    key.write_text("abc-key\n")
    key.chmod(0o600)
    load("endpoint", settings, key)
    assert stand_in.headers[-1]["Authorization"] == "Bearer abc-key"
    for mode, text in ((0o644, "abc"), (0o600, "a\r\nHost: other"), (0o600, "ключ")):
        key.write_text(text)
        key.chmod(mode)
        with pytest.raises(Unavailable):
            load("endpoint", settings, key)
    assert len(stand_in.requests) == 1


def recall(tmp_path, **values):
    file = tmp_path / "config.toml"
    file.write_text("[recall]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return load_config({"AIMEMORY_CONFIG": str(file), "HOME": str(tmp_path), "USER": "ada"}).recall


@pytest.mark.parametrize(
    "values",
    [
        {"vectors": "endpoint"}, {"vectors": "endpoint", "endpoint": "http://127.0.0.1/v1/embeddings"},
        {"endpoint": "http://127.0.0.1/v1/embeddings"},
        *({"vectors": "endpoint", "model": "m", "endpoint": url} for url in (
            "ftp://host/x", "http://", "http://me:word@host/x", "http://host/x y", "http://host/x#y", "host/x",
        )),
    ],
)  # fmt: skip
def test_settings_that_make_no_endpoint_are_refused(tmp_path, values):
    with pytest.raises(UserError, match="recall"):
        recall(tmp_path, **values)


@pytest.mark.promise("P5.351")
def test_no_endpoint_is_asked_that_nobody_asked_for(tmp_path):
    assert choose(recall(tmp_path)).provider == "static"
    assert choose(recall(tmp_path, vectors="static")).provider == "static"
    assert choose(recall(tmp_path, vectors="off")).provider is None
    off = recall(tmp_path, vectors="off", endpoint="http://127.0.0.1:1/v1/embeddings", model="m")
    assert choose(off).provider is None
