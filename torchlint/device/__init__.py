"""Count what a program would do on an accelerator: kernel launches, waits of the host, copies, allocations.

The counted device computes on the CPU and claims to be CUDA. Tensors stay ordinary CPU tensors; their storages carry a
mark that says on which side they lie (`place`). A dispatch mode sees every operator, models what CUDA does for it
(`operators`), and adds the events to the line of the program that caused them (`ledger`). `facade` puts the claim up:
device arguments, `.to`, `torch.cuda`.

Needs torch, and nothing else of torchlint: it also runs inside programs of users.
"""
