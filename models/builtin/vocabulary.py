"""The built-in model's tokenizer: byte-level, with a token for every word of the toy world. Needs tokenizers.

Any text can be written with its 256 bytes; the words of questions, answers, labels and standing texts are one token
each, pairs of digits too, and the Qwen special tokens are there under their names.
"""

import re
from typing import Any

from models.builtin.questions import WORDS
from models.builtin.wording import Words
from models.chat import SYSTEM_TEXT

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

STANDING_TEXTS = (
    "system\nuser\nassistant\n",
    "(It is now 14:03:31. The question is about 14:03:01 to 14:03:31.)",
    "(Unchanged since 14:03:05.)",
    "(No picture from 14:03:05 to 14:03:09: the camera could not be reached.)",
)
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Qwen's own way of cutting text into pieces before tokens are looked for, but for digits, which go in pairs.

With single digits the model copied the right digits of a label in a wrong order for hundreds of steps; with pairs the
times of one window mostly differ in a single token.
"""

_CHINESE_WORDS = (
    "红色 橙色 黄色 绿色 蓝色 紫色 圆形 方形 三角形 十字形 左上角 右上角 左下角 右下角 上方 下方 左边 右边 中间 向左 向右 向上 "
    "向下 有几个 几个 多少个 没有 一个 两个 三个 四个 物体 东西 你 看到 能 是 什么 颜色 的 那个 形状 在 哪里 哪儿 画面 位置 "
    "有 吗 了 有没有 里 描述一下 往 哪边 移动 哪个 方向 走 动 发生 事 变化 出现 离开 什么时候 几点 消失 每张 它 那 现在 此刻 "
    "刚才 刚刚 最近 秒 到 从 起 我 没看到 也 都没有 一开始 就 还 于 最后"
)


def build_tokenizer() -> Any:
    """Return the tokenizer; the same always."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4_096, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIAL_TOKENS]
    )
    return tokenizer


def special_ids(tokenizer: Any) -> dict[str, int]:
    """Return the ids of the special tokens by name."""
    return {name: tokenizer.token_to_id(name) for name in SPECIAL_TOKENS}


def _corpus() -> list[str]:
    """Return every text that shall be short in tokens; Chinese word by word, so that no token spans two words."""
    texts = [
        SYSTEM_TEXT,
        *STANDING_TEXTS,
        *_CHINESE_WORDS.split(),
        "？",
        "。",
        "，",
        *(f"{number:02d}" for number in range(100)),
    ]
    for words in WORDS.values():
        texts += [
            re.sub(r"[\u3400-\u9fff？。，]+", " ", re.sub(r"\{[^}]*\}", "", text))
            for text in _sentences(words)
        ]
    return texts


def _sentences(words: Words) -> list[str]:
    names = [*words.colours.values(), *words.shapes.values(), *words.plurals.values(), *words.counts]
    places = [zone for row in words.zones for zone in row] + list(words.ways.values())
    forms = [form for kind in (words.forms, words.follow_forms) for forms in kind.values() for form in forms]
    plain = [*names, *places, *forms, *words.some_forms, *words.now, *words.over, *words.answers.values()]
    return [
        form for text in plain for form in (text, f" {text}", text.capitalize(), text[:1].lower() + text[1:])
    ]
