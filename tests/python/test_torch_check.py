"""iterscope refuses a PyTorch that it was not built against."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import iterscope
from iterscope import _build_info, _iterscope, _torch_check


def test_the_build_is_the_installed_one():
    assert _iterscope.built_torch_version == _build_info.TORCH_VERSION
    assert torch.__version__.startswith(_iterscope.built_torch_version)
    assert iterscope.__version__ == _iterscope.__version__


@pytest.mark.parametrize("installed", ["2.14.0", "2.14.9+cu130", "2.14.0a0+git1234"])
def test_patch_releases_may_differ(installed):
    assert _torch_check.mismatch(installed, "2.14.1") is None


@pytest.mark.parametrize("installed", ["2.13.0", "2.15.0+cpu", "3.14.1"])
def test_minor_releases_may_not(installed):
    problem = _torch_check.mismatch(installed, "2.14.1")
    assert installed in problem
    assert "2.14.1" in problem
    assert "rebuild" in problem


def test_the_import_says_it(tmp_path):
    code = (
        "import torch\n"
        "torch.__version__ = '2.1.0'\n"
        "try:\n    import iterscope\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyTorch 2.1.0 is installed" in done.stdout
