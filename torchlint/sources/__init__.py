"""What is linted: walking paths, decoding, suppression comments, text edits, atomic writes."""
