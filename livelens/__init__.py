"""The root: reads settings, joins the packages, runs the service and the command line.

Everything that waits on two packages at once is here; no rule a person would care about is.

    settings.py -> slices for every package
    road.py     : ingest -> sampler -> featcache, one camera
    cameras.py  : all roads, registered and restored
    serve.py    : window + roads + decoder + asker + web, one process
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("livelens")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
