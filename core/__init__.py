"""Words that every package shares: ids, spans, frames, records, states, clocks, errors, channels.

Nothing here waits on the outside world; a thing moves in when three packages need the word.

    Frame (ingest) -> Sample (sampler) -> Features (models) -> what featcache stores
    Record (ingest, sampler) ----------------------------------^
"""
