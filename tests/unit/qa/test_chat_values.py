from models.prompt import Role, TextPart
from qa.chat_values import SentMessage, SentPicture


def test_a_message_tells_its_words_and_its_pictures_apart() -> None:
    first, second = SentPicture(b"1"), SentPicture(b"2")
    message = SentMessage(Role.USER, (TextPart("a"), first, TextPart("b"), second))

    assert message.text == "ab"
    assert message.pictures == (first, second)


def test_what_somebody_sent_is_not_written_into_logs() -> None:
    assert "secret" not in repr(SentPicture(b"secret"))
