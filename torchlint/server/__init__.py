"""The language server: findings, fixes and explanations for the documents that are open in an editor."""
