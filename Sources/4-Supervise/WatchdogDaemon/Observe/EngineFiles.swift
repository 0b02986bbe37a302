// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Reads files of container engines, and checks who could have written them.
///
/// Root trusts only files that no other user could have written or replaced. For other users, a forged file is
/// harmless, because they act on a container with their own rights only.
struct EngineFiles {
    /// A value, and whether it can be trusted.
    struct Found<Value> {
        let value: Value
        /// Whether only root or this user can have written it.
        let isTrusted: Bool
    }

    private static let fileBytes = 1 << 20
    private static let mostEntries = 10_000

    /// The folder that is prepended to all paths; empty except in tests.
    let root: String
    let user: UInt32

    /// The names in a folder, without hidden ones; nil with `errno` set.
    func entries(_ folder: String) -> Found<[String]>? {
        guard let found = open(folder, O_RDONLY | O_DIRECTORY), let directory = found.value.openDirectory() else {
            return nil
        }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < Self.mostEntries, let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return Found(value: names, isTrusted: found.isTrusted)
    }

    /// The contents of a regular file.
    func read(_ path: String) -> Found<[UInt8]>? {
        // Without O_NONBLOCK, a FIFO without a writer would block forever.
        guard let found = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) else { return nil }
        var status = stat()
        guard fstat(found.value.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = try? found.value.contents(limit: Self.fileBytes)
        else { return nil }
        return Found(value: bytes, isTrusted: found.isTrusted)
    }

    /// Whether one of root's engines has this container: each engine keeps a folder with its ID while it runs.
    func haveRecord(of id: String) -> Bool {
        let folders = [
            "/var/lib/docker/containers", "/var/lib/containers/storage/overlay-containers",
            "/run/containers/storage/overlay-containers", "/run/runc", "/run/crun",
        ]
        // containerd has one folder for each namespace; that of Docker is `moby`.
        let tasks = "/run/containerd/io.containerd.runtime.v2.task"
        let namespaces = (entries(tasks)?.value ?? []).map { "\(tasks)/\($0)" }
        return (folders + namespaces).contains { GuardedPath.isTrusted(folder: "\(root)\($0)/\(id)") }
    }

    private func open(_ path: String, _ flags: Int32) -> Found<OwnedDescriptor>? {
        let path = root + path
        guard user == 0 else {
            return (try? OwnedDescriptor(opening: path, flags: flags)).map { Found(value: $0, isTrusted: true) }
        }
        if let file = try? GuardedPath(path).openTrusted(flags: flags) { return Found(value: file, isTrusted: true) }
        do throws(LinuxError) {
            return Found(value: try GuardedPath(path).open(flags: flags), isTrusted: false)
        } catch {
            errno = error.errno.rawValue
            return nil
        }
    }
}
