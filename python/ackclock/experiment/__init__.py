"""Many runs: who runs them (`runner`), and how many it takes to decide (`sequential`)."""
