"""Regions: context managers, handles, decorators, names, misuse."""

from __future__ import annotations

import asyncio
import csv
import functools
import sys

import pytest

import iterscope


@pytest.fixture
def profiler():
    with iterscope.create_profiler("custom", "cpu") as made:
        yield made
        if made.iteration == 0:
            made.end_iteration()


def metrics_of(profiler):
    profiler.end_iteration()
    return profiler.get_current_metrics()


def test_a_handle_is_the_same_region(profiler):
    handle = profiler.region("a")
    for _ in range(3):
        with handle:
            pass
    with profiler.track_step("a"):
        pass
    assert list(metrics_of(profiler)) == [
        "total_time_sec",
        "max_gpu_mb",
        "a_time_sec",
        "a_max_gpu_mb",
    ]


def test_recursion_and_reentry(profiler):
    def recurse(depth):
        with profiler.track_step("f"):
            if depth:
                recurse(depth - 1)

    recurse(3)
    assert "f_time_sec" in metrics_of(profiler)
    recurse(0)
    assert "f_time_sec" in metrics_of(profiler)


def test_an_exception_closes_the_regions(profiler):
    boom = ValueError("boom")
    with pytest.raises(ValueError, match="boom") as caught:
        with profiler.track_step("outer"), profiler.track_step("inner"):
            raise boom
    assert caught.value is boom
    assert {"outer_time_sec", "inner_time_sec"} <= set(metrics_of(profiler))


def test_end_iteration_with_an_open_region(profiler):
    with profiler.track_step("a"):
        with pytest.raises(iterscope.UsageError, match="'a'"):
            profiler.end_iteration()
        assert profiler.iteration == 0
    assert "a_time_sec" in metrics_of(profiler)


def test_a_stray_exit(profiler):
    region = profiler.region("prox")
    with pytest.raises(iterscope.UsageError, match="'prox'"):
        region.__exit__(None, None, None)
    with region:
        pass
    assert "prox_time_sec" in metrics_of(profiler)


def test_a_stray_exit_does_not_replace_the_bodys_exception(profiler):
    region = profiler.region("prox")
    assert region.__exit__(ValueError, ValueError("x"), None) is False
    with pytest.warns(iterscope.IterscopeWarning, match="prox"):
        profiler.end_iteration()


def test_generators_that_close_in_the_wrong_order(profiler):
    def generator(name):
        with profiler.track_step(name):
            yield

    first, second = generator("first"), generator("second")
    next(first)
    next(second)
    with pytest.raises(iterscope.UsageError, match="'first'.*'second'"):
        next(first)
    with pytest.raises(StopIteration):
        next(second)
    metrics = metrics_of(profiler)
    assert "second_time_sec" in metrics
    assert "first_time_sec" not in metrics
    with profiler.track_step("first"):
        pass
    assert "first_time_sec" in metrics_of(profiler)


def test_a_region_that_spans_the_opening_of_the_window():
    with iterscope.create_profiler("custom", "cpu", warmup=1) as profiler:
        with profiler.track_step("a"):
            profiler.end_iteration()  # not recorded, so not checked
        with profiler.track_step("a"):
            pass
        assert "a_time_sec" in metrics_of(profiler)
        with pytest.raises(iterscope.UsageError):
            profiler.region("a").__exit__(None, None, None)


def test_an_entry_of_an_earlier_run_excuses_no_stray_exit():
    profiler = iterscope.create_profiler("custom", "cpu", warmup=1)
    region = profiler.region("a")
    with profiler:
        region.__enter__()  # never left
        profiler.end_iteration()
        profiler.end_iteration()
    with profiler:
        profiler.end_iteration()
        with pytest.raises(iterscope.UsageError, match="'a'"):
            region.__exit__(None, None, None)
        profiler.end_iteration()


def test_what_a_region_says_of_itself(profiler):
    assert "'a,\"b'" in repr(profiler.region('a,"b'))
    assert "record" in repr(iterscope.create_profiler(None, "cpu").region("a"))


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "total", "comm"])
def test_names_of_own_columns(name):
    profiler = iterscope.create_profiler("custom", "cpu", warmup=1, active=1)
    with profiler:
        for _ in range(2):
            with pytest.raises(iterscope.ConfigError):
                profiler.track_step(name)
            profiler.end_iteration()
        profiler.track_step(name)  # after the window nothing is checked
    with iterscope.create_profiler(None, "cpu") as null, null.track_step(name):
        pass


@pytest.mark.parametrize("name", [None, 3, b"a", ("a",), ["a"]])
def test_names_are_texts(profiler, name):
    with pytest.raises(TypeError):
        profiler.track_step(name)
    with pytest.raises(TypeError):
        profiler.region(name)


@pytest.mark.parametrize("name", ["", "total", "a\ud800", 3, None])
def test_mode_none_asks_nothing(name):
    with iterscope.create_profiler(None, "cpu") as null:
        with null.track_step(name), null.region(name):
            pass


@pytest.mark.parametrize(
    ("mode", "options"), [(None, {}), ("custom", {"active": 1})], ids=["None", "after the window"]
)
def test_names_are_not_kept_where_nothing_is_recorded(mode, options):
    with iterscope.create_profiler(mode, "cpu", **options) as profiler:
        profiler.end_iteration()
        before = sys.getallocatedblocks()
        for i in range(20_000):
            with profiler.track_step(f"step {i}"):
                pass
            profiler.end_iteration()
        assert sys.getallocatedblocks() - before < 200


def test_text_that_cannot_be_written_is_refused(profiler):
    with pytest.raises(iterscope.ConfigError, match="Unicode"):
        profiler.track_step("a\ud800")


def test_odd_names_come_back_exactly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ['a,b "q"\nz', "été 日本 🙂", "x\ty\x01", " ", "a/../b", "%s", "x" * 5000]
    with iterscope.create_profiler("custom", "cpu", name="r,1", save_file=True) as profiler:
        for name in names:
            with profiler.track_step(name):
                pass
        profiler.end_iteration()
        metrics = profiler.get_current_metrics()
    with open(profiler.files["gpu_metrics"], newline="", encoding="utf-8") as file:
        header, row = csv.reader(file)
    assert header == ["iter", *metrics]
    assert len(row) == len(header)
    assert [float(cell) for cell in row[1:]] == list(metrics.values())
    assert {f"{name}_time_sec" for name in names} <= set(header)


# --- decorators -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["track_step", "region"])
def test_a_decorated_function(profiler, make):
    @getattr(profiler, make)("work")
    def work(a, *, b=2):
        """Doc."""
        return a + b

    assert work(1, b=3) == 4
    assert work.__name__ == "work"
    assert work.__doc__ == "Doc."
    assert "work_time_sec" in metrics_of(profiler)


def test_a_decorated_function_that_raises(profiler):
    boom = ValueError("boom")

    @profiler.track_step("work")
    def work():
        raise boom

    with pytest.raises(ValueError, match="boom") as caught:
        work()
    assert caught.value is boom
    assert "work_time_sec" in metrics_of(profiler)


def test_a_function_decorated_before_the_run():
    profiler = iterscope.create_profiler("custom", "cpu")

    @profiler.track_step("work")
    def work():
        return 1

    assert work() == 1
    for _ in range(2):
        with profiler:
            work()
            assert "work_time_sec" in metrics_of(profiler)


def test_bodies_that_run_after_the_call_are_refused(profiler):
    def generator():
        yield

    async def coroutine():
        await asyncio.sleep(0)

    async def agenerator():
        yield

    class Callable:
        async def __call__(self):
            pass

    for function in (generator, coroutine, agenerator, Callable(), functools.partial(coroutine)):
        with pytest.raises(TypeError, match="generator|coroutine"):
            profiler.track_step("a")(function)
    with pytest.raises(TypeError, match="function"):
        profiler.track_step("a")(3)
    with pytest.raises(TypeError, match="class"):
        profiler.track_step("a")(Callable)
