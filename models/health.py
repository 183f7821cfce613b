"""Whether a decoder has a fair chance of answering, told from how it did lately. Pure."""


class Health:
    """Healthy until several failures in a row; then unwell until a success, or until it is worth another try.

    Args:
        failures: So many in a row make it unwell.
        retry_after_us: So long after the last failure a question may try again.
    """

    def __init__(self, *, failures: int, retry_after_us: int) -> None:
        self._limit = failures
        self._retry_after_us = retry_after_us
        self._in_a_row = 0
        self._failed_us = 0

    def succeeded(self) -> None:
        """Something worked."""
        self._in_a_row = 0

    def failed(self, now_us: int) -> None:
        """Something failed at ``now_us`` (monotonic)."""
        self._in_a_row += 1
        self._failed_us = now_us

    def healthy(self, now_us: int) -> bool:
        """Return whether it is worth asking at ``now_us``."""
        return self._in_a_row < self._limit or now_us - self._failed_us >= self._retry_after_us
