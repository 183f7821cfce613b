from pathlib import Path

import pytest

from livelens.decoder_profile import DecoderProfile, Device, Instance, Role, read_profile
from livelens.errors import WrongSetting


def test_without_a_file_the_built_in_model_is_served_whole_on_the_loopback() -> None:
    profile = read_profile(None)
    assert profile == DecoderProfile()
    assert (profile.model, profile.host) == ("builtin", "127.0.0.1")
    assert profile.instance(Role.BOTH).port == 8200


def test_one_file_says_all_for_every_role(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text(
        'model = "Qwen/Qwen3-VL-4B-Instruct"\nweights_bits = 8\ndevice = "gpu"\narguments = ["--seed", "7"]\n'
        '[redis]\nurl = "redis://10.0.0.1:6379/2"\n[prefill]\ngpus = "0"\n[decode]\ngpus = "1"\nport = 9000\n'
    )
    profile = read_profile(file)
    assert (profile.weights_bits, profile.device, profile.arguments) == (8, Device.GPU, ("--seed", "7"))
    assert profile.redis.url == "redis://10.0.0.1:6379/2"
    assert profile.prefill == Instance(port=8201, side_channel_port=5601, gpus="0")
    assert profile.decode == Instance(port=9000, side_channel_port=5602, gpus="1")


def test_words_of_the_command_line_replace_values_and_keep_the_rest_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text("[redis]\nprefix = 'mine'\n[decode]\nsequences = 4\n")
    profile = read_profile(file, {"redis": {"url": "redis://r:1/0"}, "decode": {"port": 9}})
    assert (profile.redis.url, profile.redis.prefix) == ("redis://r:1/0", "mine")
    assert (profile.decode.port, profile.decode.side_channel_port, profile.decode.sequences) == (9, 5602, 4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'x'", "modle: there is no such setting of a decoder profile"),
        ("[redis]\nuri = 'x'", "redis.uri: there is no such setting"),
        ("[decode]\nports = 3", "decode.ports: there is no such setting"),
        ("dtype = 'int8'", "dtype must be one of auto, bfloat16, float16, float32"),
        ("kv_bits = 4", "kv_bits must be 8 or 16"),
        ("frames = 'many'", "frames = 'many': input should be a valid integer"),
        ("model = ''", "model must be builtin, a folder or a hub name"),
        ("[decode]\nport = 0", "port must be 1 to 65535, got 0"),
        ("[decode]\nport = 8201", "prefill and decode need four ports of their own"),
        ("memory_share = 0", "memory_share must be 0.05 to 1"),
        ("frames = ", "is not TOML"),
    ],
)
def test_a_wrong_profile_is_one_line_that_names_key_and_what_is_allowed(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text(text)
    with pytest.raises(WrongSetting) as refused:
        read_profile(file)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_address_of_redis_is_not_repeated_with_its_password(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text("[redis]\nurl = 'http://:secret@host'\n")
    with pytest.raises(WrongSetting) as refused:
        read_profile(file)
    assert "secret" not in str(refused.value)


def test_a_profile_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting, match=r"missing\.toml' cannot be read"):
        read_profile(tmp_path / "missing.toml")
