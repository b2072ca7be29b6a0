"""Parity, utility and realism; prediction, disparity and decisions. Here are those that are not at the root."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
