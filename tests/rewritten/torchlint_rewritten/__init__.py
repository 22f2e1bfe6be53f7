"""Three built-in rules, written once more as others would write them: with what rule packages may import."""

TORCHLINT_API = 1
