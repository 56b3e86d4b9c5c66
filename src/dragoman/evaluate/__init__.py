"""The meter: does rewriting pay on this corpus, for these questions, and whom does it hurt?"""

from dragoman.evaluate.arms import ArmError, Spec, make, read_specs
from dragoman.evaluate.collections import Collection, read_collection
from dragoman.evaluate.compare import Comparison
from dragoman.evaluate.data import as_data
from dragoman.evaluate.evaluation import ArmResult, Evaluation, Prices, evaluate
from dragoman.evaluate.failif import ConditionError
from dragoman.evaluate.files import Asked
from dragoman.evaluate.measures import MAIN, MEASURES, per_question
from dragoman.evaluate.report import page
from dragoman.evaluate.request import Finished, Options, run_evaluate
from dragoman.evaluate.run import RAW, Arm, ArmRun, run_arm, write_runs

__all__ = [
    "MAIN",
    "MEASURES",
    "RAW",
    "Arm",
    "ArmError",
    "ArmResult",
    "ArmRun",
    "Asked",
    "Collection",
    "Comparison",
    "ConditionError",
    "Evaluation",
    "Finished",
    "Options",
    "Prices",
    "Spec",
    "as_data",
    "evaluate",
    "make",
    "page",
    "per_question",
    "read_collection",
    "read_specs",
    "run_arm",
    "run_evaluate",
    "write_runs",
]
