"""What coding agents call: the tools of ``torchlint mcp``, each a command line of torchlint."""
