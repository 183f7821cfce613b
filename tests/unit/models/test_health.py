from models.health import Health


def test_it_is_healthy_until_so_many_failures_in_a_row() -> None:
    health = Health(failures=2, retry_after_us=100)
    health.failed(0)
    assert health.healthy(0)
    health.succeeded()
    health.failed(1)
    assert health.healthy(1)
    health.failed(2)
    assert not health.healthy(3)


def test_after_a_while_it_is_worth_another_try_and_a_failure_then_counts_at_once() -> None:
    health = Health(failures=2, retry_after_us=100)
    health.failed(0)
    health.failed(0)
    assert not health.healthy(99)
    assert health.healthy(100)
    health.failed(100)
    assert not health.healthy(150)
    health.succeeded()
    assert health.healthy(151)
