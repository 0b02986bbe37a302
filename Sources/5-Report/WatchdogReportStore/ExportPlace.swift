// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogLinux

/// The folder and the name of a file outside the store.
public struct ExportPlace: Sendable {
    /// The path that the user named.
    public let path: String
    let name: String
    /// The folder, which the caller opened; nil to open it by path.
    private let folder: OwnedDescriptor?
    /// Whether the file may be a link.
    var mayBeLink: Bool { folder == nil }

    /// Creates a place by path, which is resolved with this process's rights.
    public init(_ path: String) {
        self.path = path
        name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        folder = nil
    }

    /// Creates a place in a folder that was opened without following other users' links; the file itself is not
    /// followed if it is a link, either.
    public init(_ path: String, folder: OwnedDescriptor, name: String) {
        (self.path, self.folder, self.name) = (path, folder, name)
    }

    func openFolder() throws(ReportStoreError) -> OwnedDescriptor {
        if let folder { return folder }
        let parent = String(path.dropLast(name.count))
        do throws(LinuxError) {
            // O_PATH, which Swift's Glibc module does not export.
            return try OwnedDescriptor(opening: parent.isEmpty ? "." : parent, flags: 0o10000000 | O_DIRECTORY)
        } catch {
            throw ReportStoreError("create", path, errno: error.errno.rawValue)
        }
    }
}
