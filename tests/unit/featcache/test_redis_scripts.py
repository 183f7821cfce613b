"""The scripts, against a real server: it knows them by the names we give them, and takes all of them."""

import hashlib

import pytest

from featcache import redis_scripts
from featcache.redis_scripts import Script
from tests.support.redis_server import shared_server

SCRIPTS = {name: value for name, value in vars(redis_scripts).items() if isinstance(value, Script)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_server_loads_a_script_under_the_name_we_call_it_by(name: str) -> None:
    script = SCRIPTS[name]
    assert shared_server().cli("SCRIPT", "LOAD", script.text) == script.sha
    assert script.sha == hashlib.sha1(script.text.encode()).hexdigest()


def test_scripts_that_only_read_say_so() -> None:
    assert "no-writes" in redis_scripts.HEAD.text.splitlines()[0]
