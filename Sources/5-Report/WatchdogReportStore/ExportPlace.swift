// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The folder and the name of a file outside the store.
public struct ExportPlace: Sendable {
    /// The path that the user named.
    public let path: String
    let name: String
    /// A descriptor of the folder, which the caller opened and owns; nil to open it by path.
    let folder: Int32?

    /// Creates a place by path, which is resolved with this process's rights.
    public init(_ path: String) {
        self.path = path
        name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        folder = nil
    }

    /// Creates a place in a folder that was opened without following other users' links; the file itself is not
    /// followed if it is a link, either.
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
            // O_PATH, which Swift's Glibc module does not export.
            number = open(parent.isEmpty ? "." : parent, 0o10000000 | O_DIRECTORY | O_CLOEXEC)
        }
        guard number >= 0 else { throw ReportStoreError("create", path, errno: errno) }
        return number
    }
}
