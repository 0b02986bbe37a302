// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The standard streams of a measured program: no input, and output that is shown or discarded.
struct LaunchOutputs {
    /// The descriptors for the program; valid while this value exists.
    let descriptors: [SpawnRequest.PassedDescriptor]
    /// The end of the program's errors; nil if they are shown.
    let errors: ErrorTail?
    private let owned: [OwnedDescriptor]

    /// Opens the streams.
    init(shown: Bool) throws(LinuxError) {
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        guard !shown else {
            // The report goes to standard output, so send the program's output to standard error.
            descriptors = [.init(null.number, as: 0), .init(2, as: 1), .init(2, as: 2)]
            (errors, owned) = (nil, [null])
            return
        }
        let pipe = try OwnedDescriptor.pipe()
        descriptors = [.init(null.number, as: 0), .init(null.number, as: 1), .init(pipe.write.number, as: 2)]
        errors = ErrorTail(pipe.read)
        owned = [null, pipe.write]
    }
}
