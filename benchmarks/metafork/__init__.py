"""The four tables of the MetaFork slides here: one compiled kernel a program, its block B said at launch."""
