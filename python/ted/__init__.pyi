from ted import cache as cache
from ted import cuda as cuda
from ted import errors as errors
from ted import fft as fft
from ted import jax as jax
from ted import linalg as linalg
from ted import nn as nn
from ted import onnx as onnx
from ted import random as random
from ted import special as special
from ted import testing as testing
from ted import torch as torch
from ted import tree as tree
from ted.api import *  # noqa: F403
from ted.files import *  # noqa: F403
from ted.frontend import *  # noqa: F403
from ted.loading import *  # noqa: F403
from ted.raising import from_mlir as from_mlir
from ted.runtime.threads import *  # noqa: F403

__version__: str
