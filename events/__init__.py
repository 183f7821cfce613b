"""The event log: dated statements about segments of video, with their evidence. Not built yet.

It will describe segments in which something moved and keep the statements, append-only, for programs to query. It
leaves describing to others: it declares a ``Describer`` that ``qa`` implements and the root hands over.

    motion segment -> Describer -> event (statement, span, key frames) -> event log -> queries, sinks
"""

__all__: list[str] = []
