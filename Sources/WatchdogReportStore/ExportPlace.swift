// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The folder and the name of a file outside the store.
public struct ExportPlace: Sendable {
    /// The path that the user named.
    public let path: String
    let name: String
    /// The folder, which was looked up by somebody else and belongs to them; nil to look it up.
    let folder: Int32?

    /// A path that this process's user can be trusted with.
    public init(_ path: String) {
        self.path = path
        name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        folder = nil
    }

    /// A name in a folder that was found without following links of others; the file itself is no link to be followed.
    ///
    /// - Parameter folder: a descriptor that stays open until the file is complete.
    public init(_ path: String, folder: Int32, name: String) {
        (self.path, self.folder, self.name) = (path, folder, name)
    }

    /// A descriptor of the folder, which the caller closes.
    func openFolder() throws(ReportStoreError) -> Int32 {
        let number: Int32
        if let folder {
            number = fcntl(folder, F_DUPFD_CLOEXEC, 3)
        } else {
            let parent = String(path.dropLast(name.count))
            // O_PATH, which the overlay of Swift lacks.
            number = open(parent.isEmpty ? "." : parent, 0o10000000 | O_DIRECTORY | O_CLOEXEC)
        }
        guard number >= 0 else { throw ReportStoreError("create", path, errno: errno) }
        return number
    }
}
