"""Results and answers as text."""
