"""What every test may use: helpers lie beside it, and nothing of the real home is in reach."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")  # what is tried is the same on a busy machine; how long it takes is for bench/

sys.path.insert(0, str(Path(__file__).parent / "helpers"))


@pytest.fixture(autouse=True)
def _no_real_home(tmp_path_factory, monkeypatch):
    """HOME and the data directory lead into a temporary folder, whatever a test forgets to set."""
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "AIMEMORY_DATA_DIR", "AIMEMORY_CONFIG"):
        monkeypatch.delenv(name, raising=False)
