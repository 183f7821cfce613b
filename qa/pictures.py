"""A picture that somebody sent: judged by its header, then decoded once, upright, and no larger than anybody needs.

    bytes ─ magic ▶ format ─ header ▶ pixels within the limit ─ decode, reduce ▶ turn upright, on white ▶ StillPicture

The only place of Pillow. All of it takes milliseconds to a second, in a thread of the caller's; nothing is decoded,
and no memory for pixels taken, before the header was judged.
"""

import io
import re
import struct
import zlib

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from qa.errors import PictureTooLarge, PictureUnreadable, UnknownPictureFormat

KEPT_SIDE_PX = 2_048
"""A decoded picture keeps at most this longer side; no encoder here looks closer."""

JPEG_SIDE_PX = 1_568
"""Pictures for decoders that read JPEG have at most this longer side."""

MOST_SCANS = 64
"""Scans of a progressive JPEG; each one walks over all pixels, and files made to cost time have thousands."""

_JPEG_QUALITY = 90
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_OTHERS = (
    ("HEIC", re.compile(rb".{4}ftyp(?:hei|hev|mif1|msf1)", re.DOTALL)),
    ("AVIF", re.compile(rb".{4}ftypavi[fs]", re.DOTALL)),
    ("TIFF", re.compile(rb"II\*\0|MM\0\*")),
    ("BMP", re.compile(rb"BM.{12}", re.DOTALL)),
    ("SVG", re.compile(rb"\s*<(?:\?xml|svg)")),
    ("PDF", re.compile(rb"%PDF")),
)
"""Formats that people send and that are not read, to be refused by name."""

_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    EOFError,
    LookupError,
    OverflowError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Warning,  # where warnings are errors
)
"""What Pillow raises for files that are not what they say."""


class StillPicture:
    """A decoded picture, upright and RGB; a ``core.frames.Picture``."""

    def __init__(self, image: Image.Image) -> None:
        self._image = image

    @property
    def width_px(self) -> int:
        return int(self._image.width)

    @property
    def height_px(self) -> int:
        return int(self._image.height)

    def luma(self) -> NDArray[np.uint8]:
        """Return the brightness plane, shape (height, width)."""
        return np.asarray(self._image.convert("L"), dtype=np.uint8)

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Return the picture scaled to exactly this size, shape (height, width, 3)."""
        scaled = self._image.resize((width_px, height_px), Image.Resampling.BICUBIC)
        return np.asarray(scaled, dtype=np.uint8)

    def jpeg(self) -> bytes:
        """Return it as JPEG, reduced to ``JPEG_SIDE_PX``; nothing of the file but its picture is in it."""
        image = self._image
        if max(image.size) > JPEG_SIDE_PX:
            image = image.copy()
            image.thumbnail((JPEG_SIDE_PX, JPEG_SIDE_PX), Image.Resampling.BICUBIC)
        written = io.BytesIO()
        image.save(written, "JPEG", quality=_JPEG_QUALITY)
        return written.getvalue()


def read_picture(data: bytes, *, max_pixels: int) -> StillPicture:
    """Return the picture in a JPEG, PNG, WebP or GIF file, its first one where it has several.

    Raises:
        UnknownPictureFormat: it is no file of these formats.
        PictureTooLarge: its header tells of more than ``max_pixels``.
        PictureUnreadable: it is damaged or cut short.
    """
    kind = _format_of(data)
    if kind == "WEBP":
        _judge(_webp_size(data), max_pixels)  # its library takes the memory as soon as it opens a file
    if kind == "JPEG" and data.count(b"\xff\xda") > MOST_SCANS:
        raise PictureUnreadable(f"it has more than {MOST_SCANS} scans")
    try:
        with Image.open(io.BytesIO(data), formats=(kind,)) as image:
            _judge(image.size, max_pixels)
            return StillPicture(_decoded(image))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureTooLarge.by_pixels(None, max_pixels) from None
    except UnidentifiedImageError:
        raise PictureUnreadable("its header is damaged") from None
    except _BROKEN as error:
        raise PictureUnreadable(_reason(error)) from None


def _format_of(data: bytes) -> str:
    """Return Pillow's name of the format that the first bytes tell; what a client calls it does not matter."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    raise UnknownPictureFormat(next((name for name, begins in _OTHERS if begins.match(data)), None))


def _webp_size(data: bytes) -> tuple[int, int]:
    """Return width and height from a WebP file's first chunk.

    Source: RFC 9649, sections 2.5 to 2.7.
    """
    chunk, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise PictureUnreadable("its header is cut short")
    if chunk == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if chunk == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    raise PictureUnreadable("its header is damaged")


def _judge(size: tuple[int, int], max_pixels: int) -> None:
    width_px, height_px = size
    if width_px < 1 or height_px < 1:
        raise PictureUnreadable("it has no pixels")
    if width_px * height_px > max_pixels:
        raise PictureTooLarge.by_pixels(width_px * height_px, max_pixels)


def _decoded(image: Image.Image) -> Image.Image:
    """Decode and reduce, then turn upright and put on white: large pixels are held once, in the file's own form."""
    side = (KEPT_SIDE_PX, KEPT_SIDE_PX)
    image.draft("RGB", side)  # a large JPEG is never decoded at its full size
    image.load()
    orientation = _orientation_of(image)
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    elif image.mode in ("1", "P", "PA"):  # palettes cannot be averaged
        image = image.convert("RGBA" if image.mode == "PA" or "transparency" in image.info else "RGB")
    if max(image.size) > KEPT_SIDE_PX:
        image.thumbnail(side, Image.Resampling.BICUBIC, reducing_gap=2.0)
    if orientation in _UPRIGHT:
        image = image.transpose(_UPRIGHT[orientation])
    if image.mode in ("RGBA", "LA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image)
    image = image.convert("RGB")
    image.info = {}  # comments and the like would be written into a JPEG again
    return image


def _orientation_of(image: Image.Image) -> int:
    """Return the EXIF orientation; damaged EXIF data are no reason to refuse a picture."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except _BROKEN:
        return 1


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return a picture of 16 or 32 bits a pixel with 8, its darkest and lightest values kept apart."""
    values = np.asarray(image).astype(np.float32)
    if image.mode.startswith("I;16") or values.max(initial=0) > 255:
        values = values / np.float32(257)
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def _reason(error: BaseException) -> str:
    """Return why a file cannot be read, in few words and without anything of the file in it."""
    cut_short = "truncated" in str(error).lower() or isinstance(error, EOFError)
    return "it is cut short" if cut_short else "it is damaged"
