"""torchrun, with the one patch that torch 1.13 needs under Python 3.11, where
formatting an IntFlag no longer gives the number that its own parser reads."""
import sys

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import Std

Std.from_str = classmethod(lambda cls, vm: cls(int(vm)))
run.main(sys.argv[1:])
