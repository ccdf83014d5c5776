"""Read what a profiled run left on disk, and show it: tables and figures.

Reading needs the standard library only; ``save_figure`` needs matplotlib.
"""

from iterscope.report.figure import save_figure
from iterscope.report.run import Run, find_runs, load_run
from iterscope.report.summary import RegionSummary, Summary, summarize
from iterscope.report.table import format_run
from iterscope.report.units import format_mebibytes, format_seconds, format_share

__all__ = [
    "RegionSummary",
    "Run",
    "Summary",
    "find_runs",
    "format_mebibytes",
    "format_run",
    "format_seconds",
    "format_share",
    "load_run",
    "save_figure",
    "summarize",
]
