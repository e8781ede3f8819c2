"""Many runs: jobs on processors."""
