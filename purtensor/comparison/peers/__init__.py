"""Other packages as contenders: each takes the problem in its own format, and hands back a table to be judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from purtensor.comparison.peers.cvxpy_clarabel import Clarabel
from purtensor.comparison.peers.humanleague import Humanleague
from purtensor.comparison.peers.ipfn import Ipfn
from purtensor.comparison.peers.mbi import Mbi
from purtensor.comparison.peers.ott_jax import OttJax
from purtensor.comparison.peers.peer import Peer
from purtensor.comparison.peers.pot import Pot
from purtensor.comparison.peers.r_loglin import Loglin
from purtensor.comparison.peers.scipy_dual import ScipyDual

# the peers by the names that `compare` and the command line know
PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "ipfn": Ipfn(),
        "humanleague": Humanleague(),
        "pot": Pot(),
        "pot-stabilized": Pot("sinkhorn_stabilized"),
        "pot-greenkhorn": Pot("greenkhorn"),
        "ott-jax": OttJax(),
        "mbi": Mbi(),
        "scipy-lbfgs": ScipyDual("L-BFGS-B"),
        "trust-exact": ScipyDual("trust-exact"),
        "clarabel": Clarabel(),
        "loglin": Loglin(),
    }
)
