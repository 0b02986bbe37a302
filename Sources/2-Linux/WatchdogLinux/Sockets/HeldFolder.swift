// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A folder that is looked up once: the way to it is checked with three system calls for each of its components.
///
/// Isolation: may be used from any thread.
final class HeldFolder: Sendable {
    private struct Held {
        let place: FilePlace
        let device: dev_t
        let inode: ino_t
    }

    private let path: String
    private let held = Locked<Held?>(nil)

    /// Looks nothing up yet.
    init(_ path: String) { self.path = path }

    /// The place of a name in the folder, which is looked up again if its path leads to another one by now.
    func place(of name: String) throws(LinuxError) -> FilePlace {
        var status = stat()
        if let held = held.withLock({ $0 }), stat(path, &status) == 0, status.st_dev == held.device,
            status.st_ino == held.inode
        {
            return held.place.beside(name)
        }
        let place = try FilePlace("\(path)/\(name)")
        if fstat(place.folder, &status) == 0 {
            let found = Held(place: place, device: status.st_dev, inode: status.st_ino)
            held.withLock { $0 = found }
        }
        return place
    }
}
