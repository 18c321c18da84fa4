"""MCP with the real daemon behind it: what hooks recorded is found, what is written is a page, a restart breaks nothing."""

import pytest
from living import repository
from shim import Client


@pytest.fixture
def shop(daemon, tmp_path):
    where = repository(tmp_path / "shop")
    daemon.hook(
        "claude-code", "UserPromptSubmit", {"session_id": "s", "cwd": str(where), "prompt": "repot the monstera"}, where
    )
    return where


@pytest.fixture
def client(daemon, shop):
    made = Client(daemon, shop)
    made.call("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})
    yield made
    made.close()


def test_what_a_hook_recorded_is_found_in_the_directory_of_the_agent(daemon, client):
    daemon.search("monstera")

    text, failed = client.tool("memory_search", query="monstera")

    assert not failed
    assert "repot the monstera" in text and "default/shop" in text


def test_a_page_is_written_read_changed_and_protected(daemon, client):
    written, failed = client.tool(
        "memory_write_page", title="Watering", body="Once a week.", kind="rule", tags=["plants"]
    )
    assert not failed, written
    (page,) = daemon.pages("default/shop/rules/*.md")
    path = str(page.relative_to(daemon.data.wiki))
    version = daemon.get("/api/v1/page", page=path)["version"]
    assert path in written and version in written

    read, _ = client.tool("memory_read_page", page="Watering")
    assert "Once a week." in read and version in read
    changed, failed = client.tool(
        "memory_write_page", title="Watering", body="Twice.", kind="rule", path=path, version=version
    )
    assert not failed, changed
    refused, failed = client.tool(
        "memory_write_page", title="Watering", body="Never.", kind="rule", path=path, version=version
    )

    assert failed and "changed on disk" in refused
    assert "Twice." in page.read_text()


def test_an_agent_deletes_the_page_it_has_read_and_is_told_the_way_back(daemon, client):
    client.tool("memory_write_page", title="Watering", body="Once a week.", kind="rule")
    (page,) = daemon.pages("default/shop/rules/*.md")
    path = str(page.relative_to(daemon.data.wiki))
    version = daemon.get("/api/v1/page", page=path)["version"]

    refused, failed = client.tool("memory_delete_page", page=path, version="0" * 32)
    assert failed and "Nothing was deleted." in refused and version in refused and page.exists()
    deleted, failed = client.tool("memory_delete_page", page="Watering", version=version)

    assert not failed and f"aimemory undelete {path}" in deleted
    assert not page.exists()
    assert "Once a week" not in client.tool("memory_search", query="week")[0]
    assert daemon.cli("undelete", path).returncode == 0
    assert "Once a week." in page.read_text()


def test_an_agent_cannot_delete_what_nothing_could_bring_back(daemon, client):
    client.tool("memory_write_page", title="Watering", body="Once a week.", kind="rule")
    (page,) = daemon.pages("default/shop/rules/*.md")
    page.write_text(page.read_text() + "The key is ghp_" + "Zq8R" * 9 + "\n")
    version = daemon.get("/api/v1/page", page=str(page.relative_to(daemon.data.wiki)))["version"]

    text, failed = client.tool("memory_delete_page", page="Watering", version=version)

    assert failed and "can't be restored" in text
    assert page.exists()


def test_all_problems_of_the_arguments_come_in_one_answer(client):
    text, failed = client.tool("memory_write_page", titel="x", kind="poem", body=5)

    assert failed
    assert all(word in text for word in ("title", "titel", "kind"))


def test_a_restart_in_mid_session_is_not_noticed(daemon, client):
    client.tool("memory_status")
    daemon.stop()
    daemon.start()

    text, failed = client.tool("memory_recent")

    assert not failed and "live session" in text


def test_recent_and_status_answer(daemon, client):
    assert not client.tool("memory_status")[1]
    text, failed = client.tool("memory_recent", limit="5")

    assert not failed and "claude-code" in text


def test_a_secret_in_a_page_written_by_an_agent_is_not_stored(daemon, client):
    secret = "ghp_" + "Zq8R" * 9

    client.tool("memory_write_page", title="Keys", body=f"The key is {secret}.", kind="note")

    (page,) = daemon.pages("default/shop/notes/*.md")
    assert secret not in page.read_text() and "[redacted:" in page.read_text()
