"""Processes that are forked from one that has imported what they import, in place of new interpreters.

``python forking.py --serve SOCKET`` imports the language server, and forks for everyone who asks at the socket;
``python forking.py SOCKET ARGUMENTS`` asks, hands its folder, environment and streams over, and ends as the fork ends.
The fork runs ``torchlint ARGUMENTS`` as ``python -m torchlint`` does, in a process of its own.
"""

import json
import os
import select
import signal
import socket
import sys

LONGEST = 1 << 20


def serve(path: str) -> None:
    """Fork for everyone who asks, until standard input ends; then the folder of the socket goes."""
    import torchlint.cli
    import torchlint.server.serve  # noqa: F401  what the forks find imported

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while 0 not in select.select([listening, 0], [], [])[0]:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    answer(connection)
                    os._exit(0)
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def answer(connection: socket.socket) -> None:
    """Run a command of someone who asks, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(LONGEST)
    child = os.fork()
    if child == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        run(**json.loads(message))
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def run(folder: str, environment: dict[str, str], arguments: list[str]) -> None:
    """Run torchlint in this process, and end it."""
    from torchlint.cli import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["torchlint", *arguments]
    os._exit(main())


def ask(path: str, arguments: list[str]) -> int:
    """Have a command run; its exit status."""
    message = json.dumps({"folder": os.getcwd(), "environment": dict(os.environ), "arguments": arguments}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        sent = socket.send_fds(connection, [message + b"\n"], [0, 1, 2])
        connection.sendall((message + b"\n")[sent:])
        return int(connection.recv(16))


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
