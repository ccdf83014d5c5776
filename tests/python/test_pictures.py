"""Pictures: every shipped photograph, own files of many kinds, and wrong names and sizes."""

import re
import socket

import numpy as np
import pytest
import torch
from imageio.v3 import imwrite

from iterscope import ConfigError
from iterscope.pictures import PHOTOGRAPHS, image_shape, load_picture

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a picture must not come over the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_photographs_ship_with_scikit_image(name):
    picture = load_picture(name, 32)
    assert picture.shape in ((1, 1, 32, 32), (1, 3, 32, 32))
    assert picture.dtype == torch.float32
    assert 0.0 <= picture.min() < picture.max() <= 1.0
    assert picture.is_contiguous()


def test_a_photograph_at_its_own_size_is_the_file():
    from skimage.data import astronaut

    expected = torch.from_numpy(astronaut()).permute(2, 0, 1)[None] / 255
    assert torch.allclose(load_picture("astronaut"), expected, atol=1e-7)


def test_the_middle_of_the_picture_is_taken(tmp_path):
    array = np.zeros((20, 60))
    array[:, 20:40] = 1.0
    np.save(tmp_path / "bar.npy", array)
    assert torch.equal(load_picture(str(tmp_path / "bar.npy"), 20), torch.ones(1, 1, 20, 20))
    assert load_picture(str(tmp_path / "bar.npy"), [10, 30]).shape == (1, 1, 10, 30)


@pytest.mark.parametrize(
    ("name", "array", "channels"),
    [
        ("grey.png", RANDOM.integers(0, 256, (20, 30), dtype=np.uint8), 1),
        ("deep.png", RANDOM.integers(0, 65536, (20, 30), dtype=np.uint16), 1),
        ("colour.jpg", RANDOM.integers(0, 256, (20, 30, 3), dtype=np.uint8), 3),
        ("clear.png", RANDOM.integers(0, 256, (20, 30, 4), dtype=np.uint8), 3),
        ("greyclear.png", RANDOM.integers(0, 256, (20, 30, 2), dtype=np.uint8), 1),
        ("float.tif", RANDOM.random((20, 30, 3), dtype=np.float32), 3),
    ],
)
def test_own_files_of_many_kinds(tmp_path, name, array, channels):
    imwrite(tmp_path / name, array)
    picture = load_picture(str(tmp_path / name))
    assert picture.shape == (1, channels, 20, 30)
    if not name.endswith(".jpg"):
        largest = np.iinfo(array.dtype).max if array.dtype.kind == "u" else 1
        expected = array.reshape(20, 30, -1)[:, :, :channels].transpose(2, 0, 1) / largest
        assert np.allclose(picture[0].numpy(), expected, atol=1e-6)


def test_a_path_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.save(tmp_path / "a.npy", np.ones((4, 5)))
    assert load_picture("~/a.npy").shape == (1, 1, 4, 5)


@pytest.mark.parametrize("name", ["astronut", "", "moon.png", "./moon", "/", "no/such/file.png"])
def test_wrong_names_say_what_there_is(name):
    with pytest.raises(ConfigError, match="astronaut, brick"):
        load_picture(name)


def test_a_file_that_is_no_picture(tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_picture(str(tmp_path / "text.png"))


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.full((4, 4), 2.0), "has values from 2 to 2"),
        (np.full((4, 4), -0.1), "has values from -0.1"),
        (np.full((4, 4), np.nan), "has values from nan"),
        (np.zeros((4, 4), complex), "of type complex128"),
        (np.zeros((4, 4, 4, 4)), "has shape (4, 4, 4, 4)"),
        (np.zeros((4, 4, 5)), "has shape (4, 4, 5)"),
        (np.zeros((0, 4)), "has shape"),
    ],
)
def test_arrays_that_are_no_picture(tmp_path, array, reason):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ConfigError, match=re.escape(reason)):
        load_picture(str(tmp_path / "x.npy"))


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "256", [1, 2, 3], [], [0, 4], [4, "a"]])
def test_wrong_sizes(size):
    with pytest.raises(ConfigError, match="is not a size"):
        image_shape(size)


def test_sizes():
    assert image_shape(5) == (5, 5)
    assert image_shape([5, 7]) == image_shape((5, 7)) == (5, 7)
