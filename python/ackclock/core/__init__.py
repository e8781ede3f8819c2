"""A scenario in, numbers out: scenarios, the engines and their results."""
