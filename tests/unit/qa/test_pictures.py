"""Files that people send: read rightly where they are pictures, refused by name where they are not, never a crash."""

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from models.pictures import PictureRules, prepare
from qa.errors import PictureTooLarge, PictureUnreadable, UnknownPictureFormat
from qa.pictures import JPEG_SIDE_PX, KEPT_SIDE_PX, StillPicture, read_picture

RED, GREEN, BLUE, WHITE = (220, 30, 30), (30, 200, 30), (30, 30, 220), (255, 255, 255)


def quarters(width: int = 64, height: int = 48) -> Image.Image:
    """Return a picture red, green over blue, white."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    image.paste(WHITE, (width // 2, height // 2, width, height))
    return image


def file_of(image: Image.Image, kind: str = "PNG", **how: Any) -> bytes:
    written = io.BytesIO()
    image.save(written, kind, **how)
    return written.getvalue()


def read(data: bytes, *, max_pixels: int = 1_000_000) -> StillPicture:
    return read_picture(data, max_pixels=max_pixels)


def corners(picture: StillPicture) -> list[tuple[int, ...]]:
    """Return the middle colours of the four quarters, row by row, rounded."""
    pixels = picture.rgb(picture.width_px, picture.height_px).astype(int)
    height, width = pixels.shape[:2]
    places = [(height // 4, width // 4), (height // 4, 3 * width // 4)]
    places += [(3 * height // 4, width // 4), (3 * height // 4, 3 * width // 4)]
    return [tuple(pixels[place].tolist()) for place in places]


def near(found: list[tuple[int, ...]], wanted: list[tuple[int, ...]]) -> bool:
    return bool(np.abs(np.array(found) - np.array(wanted)).max() < 16)


@pytest.mark.parametrize(
    "data",
    [
        file_of(quarters(), "PNG"),
        file_of(quarters(), "JPEG", quality=95),
        file_of(quarters(), "JPEG", quality=95, progressive=True),
        file_of(quarters(), "WEBP", quality=95),
        file_of(quarters(), "WEBP", lossless=True),
        file_of(quarters().convert("RGBA"), "WEBP", lossless=True),
        file_of(quarters(), "GIF"),
        file_of(quarters().convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
    ],
    ids=["png", "jpeg", "progressive", "webp", "webp-lossless", "webp-extended", "gif", "palette"],
)
def test_the_usual_files_are_read(data: bytes) -> None:
    picture = read(data)
    assert (picture.width_px, picture.height_px) == (64, 48)
    assert near(corners(picture), [RED, GREEN, BLUE, WHITE])


def test_a_picture_is_one_for_the_encoder() -> None:
    picture = read(file_of(quarters(320, 240)))
    rules = PictureRules(16, 2, 2, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 1 / 255, 32)
    assert prepare(picture, rules).grid == (1, 10, 12)
    assert picture.luma().shape == (240, 320)
    assert picture.rgb(10, 5).shape == (5, 10, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_upright_as_its_camera_said(orientation: int) -> None:
    turned = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[orientation]  # the inverse of each
    image = quarters()
    if turned is not None:
        image = image.transpose(Image.Transpose(turned))
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = read(file_of(image, "JPEG", quality=95, exif=exif))
    assert (picture.width_px, picture.height_px) == (64, 48)
    assert near(corners(picture), [RED, GREEN, BLUE, WHITE])


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data:UserWarning")
def test_damaged_exif_data_are_no_reason_to_refuse_a_picture() -> None:
    picture = read(file_of(quarters(), "JPEG", quality=95, exif=b"Exif\x00\x00II*\x00\xff\xff\xff\xff"))
    assert near(corners(picture), [RED, GREEN, BLUE, WHITE])


def test_what_is_transparent_is_white() -> None:
    image = quarters().convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, 32, 24))
    assert near(corners(read(file_of(image))), [WHITE, GREEN, BLUE, WHITE])
    grey = Image.new("LA", (8, 8), (0, 0))
    assert corners(read(file_of(grey)))[0] == WHITE
    palette = Image.new("P", (8, 8), 1)
    palette.putpalette([0, 0, 0, 200, 0, 0])
    assert corners(read(file_of(palette, transparency=1)))[0] == WHITE


def test_sixteen_bits_and_other_colour_spaces_become_eight_bits_of_rgb() -> None:
    deep = Image.fromarray(np.full((8, 8), 0x8080, np.uint16))
    assert corners(read(file_of(deep)))[0] == (128, 128, 128)
    assert near(
        corners(read(file_of(quarters().convert("L"), "JPEG"))), [(86,) * 3, (130,) * 3, (52,) * 3, WHITE]
    )
    assert near(corners(read(file_of(quarters().convert("CMYK"), "JPEG", quality=95)))[:1], [RED])
    assert corners(read(file_of(Image.new("1", (8, 8), 1))))[0] == WHITE


def test_of_a_moving_picture_the_first_one_is_read() -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in (RED, GREEN)]
    for kind in ("GIF", "PNG", "WEBP"):
        moving = file_of(frames[0], kind, save_all=True, append_images=frames[1:])
        assert near(corners(read(moving))[:1], [RED]), kind


def test_a_large_picture_is_kept_no_larger_than_anybody_looks() -> None:
    for kind in ("JPEG", "PNG"):
        picture = read(file_of(quarters(4_800, 3_600), kind), max_pixels=40_000_000)
        assert max(picture.width_px, picture.height_px) <= KEPT_SIDE_PX
        assert picture.width_px / picture.height_px == pytest.approx(4 / 3, rel=0.01)
        assert near(corners(picture), [RED, GREEN, BLUE, WHITE])
        sent = Image.open(io.BytesIO(picture.jpeg()))
        assert max(sent.size) == JPEG_SIDE_PX


def test_a_jpeg_for_others_carries_nothing_but_the_picture() -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    data = file_of(quarters(), "JPEG", exif=exif, comment=b"a secret note")
    sent = read(data).jpeg()
    assert b"secret" in data
    assert b"secret" not in sent
    assert near(corners(read(sent)), [RED, GREEN, BLUE, WHITE])


# ---------------------------------------------------------------- refused


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_header(width: int, height: int) -> bytes:
    """Return a PNG that says it is so large, and has next to no data."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


def gif_header(width: int, height: int) -> bytes:
    return (
        b"GIF89a"
        + struct.pack("<HH", width, height)
        + b"\x80\0\0"
        + b"\0" * 6
        + (b"," + struct.pack("<HHHH", 0, 0, width, height) + b"\0\x02\x02\x44\x01\0;")
    )


def webp(kind: bytes, body: bytes) -> bytes:
    inner = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


def jpeg_header(width: int, height: int) -> bytes:
    """Return a JPEG whose frame header says another size than its data have."""
    data = file_of(quarters(), "JPEG")
    at = data.index(b"\xff\xc0")
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


LARGE = [
    png_header(30_000, 30_000),
    png_header(20_000, 5_000),
    png_header(2**31 - 1, 2**31 - 1),
    gif_header(60_000, 60_000),
    jpeg_header(65_000, 65_000),
    webp(b"VP8X", b"\0" * 4 + b"\xfe\x3f\0" + b"\xfe\x3f\0"),
    webp(b"VP8L", b"\x2f" + (0x3FFF | 0x3FFF << 14).to_bytes(4, "little") + b"\0" * 5),
    webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 16_383, 16_383) + b"\0" * 8),
]


@pytest.mark.parametrize("data", LARGE, ids=range(len(LARGE)))
def test_what_would_be_too_large_is_refused_by_its_header(data: bytes) -> None:
    with pytest.raises(PictureTooLarge, match="pixels"):
        read(data, max_pixels=40_000_000)


def test_a_bomb_is_refused_before_memory_is_taken() -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        for data in LARGE:
            with pytest.raises(PictureTooLarge):
                read(data)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_pixels_up_to_the_limit_pass() -> None:
    data = file_of(quarters(100, 100))
    assert read(data, max_pixels=10_000).width_px == 100
    with pytest.raises(PictureTooLarge, match="10000 pixels, at most 9999"):
        read(data, max_pixels=9_999)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_file_cut_short_is_refused_wherever_it_was_cut(kind: str) -> None:
    data = file_of(quarters(256, 200).effect_spread(40), kind)
    for share in (0.02, 0.1, 0.5, 0.9):
        with pytest.raises((PictureUnreadable, UnknownPictureFormat)):
            read(data[: int(len(data) * share)])


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", None),
        (b"hello", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"%PDF-1.7", "PDF"),
        (b"II*\0", "TIFF"),
        (b"BM" + b"\0" * 60, "BMP"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\0\0\0\x18ftypavif\0\0\0\0mif1avif", "AVIF"),
    ],
)
def test_other_files_are_refused_by_name(data: bytes, found: str | None) -> None:
    with pytest.raises(UnknownPictureFormat) as refused:
        read(data)
    assert refused.value.found == found


def test_a_png_with_a_damaged_chunk_is_refused() -> None:
    rows = np.random.default_rng(1).integers(0, 255, (400, 400, 3), dtype=np.uint8)
    data = file_of(Image.fromarray(rows), "PNG", compress_level=0)
    second = data.index(b"IDAT", data.index(b"IDAT") + 4)
    with pytest.raises(PictureUnreadable):
        read(data[:second] + b"\0" * 4 + data[second + 4 :])


@pytest.mark.parametrize("size", [(1, 1), (1, 4_000), (4_000, 1)])
def test_thin_pictures_are_pictures(size: tuple[int, int]) -> None:
    picture = read(file_of(Image.new("RGB", size, RED)))
    rules = PictureRules(16, 2, 2, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 1 / 255, 32)
    steps, rows, columns = prepare(picture, rules).grid
    assert steps == 1
    assert 4 <= rows * columns <= 32 * 4
    assert picture.jpeg()


def test_large_pictures_of_one_bit_are_refused_by_their_pixels_not_their_bytes() -> None:
    for side in (30_000, 12_000):
        rows = zlib.compress((b"\0" + b"\0" * ((side + 7) // 8)) * side, 9)
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0))
        data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
        assert len(data) < 150_000
        with pytest.raises(PictureTooLarge):
            read(data, max_pixels=40_000_000)


def test_red_in_four_printing_colours_is_red() -> None:
    cmyk = Image.new("CMYK", (32, 32), (0, 255, 255, 0))
    data = file_of(cmyk, "JPEG", quality=95)
    assert b"Adobe" in data
    assert np.abs(np.array(corners(read(data))[0]) - (255, 0, 0)).max() <= 3


def test_a_jpeg_of_countless_scans_is_refused() -> None:
    data = file_of(quarters(), "JPEG", progressive=True)
    with pytest.raises(PictureUnreadable, match="scans"):
        read(data[:-2] + b"\xff\xda\0\x08" * 100 + data[-2:])


FILES = [file_of(quarters(40, 30), kind) for kind in ("PNG", "JPEG", "WEBP", "GIF")] + [
    file_of(quarters(40, 30), "JPEG", progressive=True, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"),
    file_of(quarters(40, 30).convert("RGBA"), "WEBP", lossless=True),
    file_of(quarters(40, 30).convert("P"), "PNG"),
]


@settings(max_examples=300)
@given(
    st.sampled_from(FILES),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_damage_is_refused_by_name_or_survived(data: bytes, damage: list[tuple[int, int]]) -> None:
    broken = bytearray(data)
    for at, value in damage:
        broken[at % len(broken)] = value
    try:
        picture = read(bytes(broken))
    except (PictureUnreadable, PictureTooLarge, UnknownPictureFormat):
        return
    assert picture.rgb(8, 8).shape == (8, 8, 3)
