"""What people read: every sentence, and the texts of results."""
