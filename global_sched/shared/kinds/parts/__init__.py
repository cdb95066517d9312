"""Parts of the kinds' files: the questions, the readings, and common answers."""
