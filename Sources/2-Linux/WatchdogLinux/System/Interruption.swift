// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Turns SIGINT, SIGTERM and SIGHUP into a descriptor that becomes readable, so that a program that was started can be ended first.
public enum Interruption {
    // SAFETY: set once, before the handlers that read it are installed.
    private nonisolated(unsafe) static var writeEnd: Int32 = -1

    /// Becomes readable with the first signal, and stays so; call it once.
    public static func descriptor() throws(LinuxError) -> OwnedDescriptor {
        let pipe = try OwnedDescriptor.pipe()
        let copy = fcntl(pipe.write.number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw LinuxError("duplicate a descriptor", .current) }
        _ = fcntl(copy, F_SETFL, O_NONBLOCK)
        writeEnd = copy
        // write(2) is async-signal-safe: signal-safety(7).
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _ in _ = write(Interruption.writeEnd, "x", 1) } }
        return pipe.read
    }
}
