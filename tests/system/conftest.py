import pytest
from living import Daemon


@pytest.fixture
def daemon(tmp_path):
    """A running daemon on an empty data directory."""
    made = Daemon(tmp_path)
    made.start()
    yield made
    made.close()
