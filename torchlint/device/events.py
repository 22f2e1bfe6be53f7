"""What an accelerator does for a line of a program, as counts."""

from __future__ import annotations

from dataclasses import fields

from torchlint.late import dataclass


@dataclass(slots=True)
class Events:
    """Counts of events; bytes are those of copies between host and device, in both directions.

    Attributes:
        launches: operators that start work on the device.
        waits: times that the host waits until the device has caught up.
        copies_in, copies_out: copies from host to device and back.
        bytes: bytes of these copies.
        allocations: blocks of device memory asked for.
        allocated: bytes of these blocks.
    """

    launches: int = 0
    waits: int = 0
    copies_in: int = 0
    copies_out: int = 0
    bytes: int = 0
    allocations: int = 0
    allocated: int = 0

    def add(self, other: Events) -> None:
        """Add the counts of other events to these."""
        self.launches += other.launches
        self.waits += other.waits
        self.copies_in += other.copies_in
        self.copies_out += other.copies_out
        self.bytes += other.bytes
        self.allocations += other.allocations
        self.allocated += other.allocated

    @property
    def copies(self) -> int:
        """Copies in both directions."""
        return self.copies_in + self.copies_out

    def __bool__(self) -> bool:
        return any(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, in the order of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
