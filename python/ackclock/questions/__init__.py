"""Questions: each a problem, a plan of runs and an answer with its evidence."""
