"""What the files of the kinds are made of: the questions, the readings, and common answers."""
