# AISBench's summarizers: two of performance, and one that selects the default tables.

from ais_bench.benchmark.calculators import DefaultPerfMetricCalculator, StablePerfMetricCalculator
from ais_bench.benchmark.summarizers import DefaultPerfSummarizer, DefaultSummarizer

stats_list = ("Average", "Min", "Max", "Median", "P75", "P90", "P99")
default_perf = dict(
    attr="performance",
    type=DefaultPerfSummarizer,
    calculator=dict(type=DefaultPerfMetricCalculator, stats_list=stats_list),
)
stable_stage = dict(
    attr="performance",
    type=DefaultPerfSummarizer,
    calculator=dict(type=StablePerfMetricCalculator, stats_list=stats_list),
)
example = dict(attr="accuracy", type=DefaultSummarizer)
