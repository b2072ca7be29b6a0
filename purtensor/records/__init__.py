"""Records of any kind, in memory or in files, and what is made of them."""
