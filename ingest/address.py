"""Addresses of sources: which are allowed, and how to take name and password out of one. Pure."""

import re
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from core.cameras import Credentials, Source, Transport
from ingest.errors import AmbiguousAddress, SourceRefused
from ingest.feeds import NO_FEEDS, Feeds

_RTSP = ("rtsp", "rtsps")
_MASK = "***"


def parse_source(
    url: str,
    username: str | None = None,
    password: str | None = None,
    transport: Transport = Transport.TCP,
    loop: bool = False,
    *,
    feeds: Feeds = NO_FEEDS,
) -> Source:
    """Return the source that an address names, with name and password taken out of the address.

    Credentials within ``url`` are percent-decoded once; ``username`` and ``password`` are taken as they are
    and win over those in the address. ``feeds`` adds schemes to those that are always read.

    Raises:
        SourceRefused: the scheme is not allowed, or the address is malformed.
        AmbiguousAddress: a raw ``@``, ``#``, ``/`` or ``?`` makes it unclear where the host begins.
    """
    scheme = url.partition(":")[0].lower()
    if scheme not in (*_RTSP, "file", *feeds):
        raise _unknown_scheme(feeds)
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in url):
        raise SourceRefused("an address holds no control characters")
    if scheme == "file":
        if username is not None or password is not None:
            raise SourceRefused("a file has no name and password")
        source = Source(url=f"file:{url.partition(':')[2]}", transport=transport, loop=loop)
        file_path(source)
        return source
    if loop:
        raise SourceRefused("only files can be looped")
    if scheme in feeds:
        if username is not None or password is not None:
            raise SourceRefused(f"a {scheme}: address has no name and password")
        source = Source(url=f"{scheme}:{url.partition(':')[2]}")
        feeds[scheme].check(source)
        return source
    parts, found = _split_login(url)
    if username is not None:
        found = Credentials(username, password or "")
    elif password is not None:
        raise SourceRefused("a password needs a name")
    source = Source(url=urlunsplit(parts), credentials=found, transport=transport)
    check_source(source)
    return source


def check_source(source: Source, feeds: Feeds = NO_FEEDS) -> None:
    """Return where ``source`` may be read from. Raises SourceRefused, AmbiguousAddress."""
    if source.kind == "file":
        file_path(source)
        return
    if source.kind in feeds:
        feeds[source.kind].check(source)
        return
    if source.kind not in _RTSP:
        raise _unknown_scheme(feeds)
    parts, found = _split_login(source.url)
    if found is not None:
        raise SourceRefused("name and password belong into fields of their own")
    _check_host(parts)


def file_path(source: Source) -> str:
    """Return the local path of a ``file:`` source. Raises SourceRefused for anything but an absolute one."""
    rest = source.url.partition(":")[2]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise SourceRefused("only files of this machine are read")
        rest = slash + path
    path = unquote(rest)
    if not path.startswith("/") or "\0" in path:
        raise SourceRefused("a file: address needs an absolute path")
    return path


def masked(source: Source) -> str:
    """Return the address as it may be shown and logged."""
    if source.credentials is None:
        return source.url
    return source.url.replace("://", f"://{_MASK}@", 1)


def _unknown_scheme(feeds: Feeds) -> SourceRefused:
    *most, last = ("rtsp://", "rtsps://", "file:", *(f"{scheme}:" for scheme in sorted(feeds)))
    return SourceRefused(f"a source is an {', '.join(most)} or {last} address")


def _split_login(url: str) -> tuple[SplitResult, Credentials | None]:
    """Take the login out of an RTSP address."""
    match = re.fullmatch(r"([A-Za-z]+)://([^/?#]*)(.*)", url)
    if match is None:
        raise SourceRefused("an RTSP address begins with rtsp:// and a host")
    authority, rest = match[2], match[3]
    # A fragment means nothing in RTSP, and an '@' behind the host may be the end of a raw password.
    if authority.count("@") > 1 or "@" in rest or "#" in rest:
        raise AmbiguousAddress
    login, at, host = authority.rpartition("@")
    parts = urlsplit(f"{match[1].lower()}://{host}{rest}")
    _check_host(parts)
    if not at:
        return parts, None
    name, _, word = login.partition(":")
    try:
        found = Credentials(unquote(name, errors="strict"), unquote(word, errors="strict"))
    except UnicodeDecodeError:
        raise SourceRefused("name and password in an address are percent-encoded UTF-8") from None
    return parts, found


def _check_host(parts: SplitResult) -> None:
    try:
        port = parts.port
    except ValueError:
        # Most often a raw '/' or '?' in a password: "user:pa/ss@host" reads as host "user", port "pa".
        raise AmbiguousAddress from None
    if not parts.hostname or port == 0:
        raise SourceRefused("an RTSP address needs a host, and a port from 1 to 65535 if any")
    if re.search(r"[\s\\]", parts.netloc):
        raise SourceRefused("the host of an address holds no spaces and no backslash")
