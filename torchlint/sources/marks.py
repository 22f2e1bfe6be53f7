"""The byte-order marks of encodings in which no ASCII word can be found in a file's bytes."""

# UTF-16 (UTF-32 little-endian starts alike) and UTF-32. Python reads no source in them, and that is to be told.
WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
