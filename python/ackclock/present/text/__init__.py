"""Texts for people: every sentence, and the texts of results."""
