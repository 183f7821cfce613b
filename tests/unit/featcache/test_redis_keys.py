"""Names of keys: one slot for each life, and nothing that names a camera but its pointer."""

from featcache.redis_keys import LifeKeys, OwnerKeys, camera_key
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, YARD


def test_all_keys_of_a_life_share_one_hash_tag_and_name_nobody() -> None:
    keys = LifeKeys.of("livelens", GATE, FIRST_LIFE)
    names = [*keys.all_declared(), keys.frame(10), keys.staged("x")]
    assert len({name[name.index("{") : name.index("}")] for name in names}) == 1
    assert len(set(names)) == 9
    assert not [name for name in names if GATE in name or FIRST_LIFE in name]


def test_lives_and_cameras_do_not_share_keys() -> None:
    lives = [(GATE, FIRST_LIFE), (GATE, SECOND_LIFE), (YARD, FIRST_LIFE)]
    assert len({LifeKeys.of("livelens", *life).root for life in lives}) == 3


def test_the_pointer_names_the_camera() -> None:
    assert camera_key("livelens", GATE) == "livelens:camera:gate"


def test_all_keys_of_an_owner_share_one_hash_tag() -> None:
    keys = OwnerKeys.of("livelens", "ab12")
    names = {keys.alive, keys.wanted, keys.reply("x")}
    assert len(names) == 3
    assert {name[name.index("{") : name.index("}")] for name in names} == {"{o-ab12"}
