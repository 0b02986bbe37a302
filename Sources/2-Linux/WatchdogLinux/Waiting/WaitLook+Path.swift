// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

extension WaitLook {
    /// The paths that a call was given, as the process wrote them; the files themselves are not accessed, because that
    /// is what hangs.
    func named(_ call: BlockedCall, _ place: Place) -> Finding {
        var arguments = wd_path_call()
        guard wd_find_path_call(call.number, &arguments) else { return Finding() }
        var finding = file(call, arguments.path, arguments.directory, place)
        let other = file(call, arguments.other_path, arguments.other_directory, place)
        if !finding.subject.isEmpty, !other.subject.isEmpty {
            finding.subject += " and \(other.subject)"
            finding.sources += other.sources.filter { !finding.sources.contains($0) }
        }
        guard !finding.subject.isEmpty else { return finding }
        switch Procfs.line("\(place.task)/wchan", limit: 64) {
        case "__break_lease": note(leaseIn: &finding)
        // fifo_open(), fs/pipe.c; O_RDWR does not wait.
        case "wait_for_partner":
            let index = wd_open_flags(call.number)
            let isWriting = index >= 0 && call.arguments[Int(index)] & UInt64(O_ACCMODE) == UInt64(O_WRONLY)
            let way = index < 0 ? "" : isWriting ? " for reading" : " for writing"
            finding.subject += " (fifo that nobody opens\(way))"
        default: break
        }
        return finding
    }

    /// Adds who has leased the file that is to be opened, if only one lease of this machine is being broken: the table shows
    /// inodes, and only the file system knows that of a path.
    private func note(leaseIn finding: inout Finding) {
        let source = "/proc/locks"
        guard let file = try? OwnedDescriptor(opening: source, flags: O_RDONLY) else { return }
        var leases: [FileLock] = []
        let isWhole = budget.useReserve { left in
            Procfs.forEachLine(file, limit: 1 << 20) { line in
                if let lock = FileLock(parsing: line), lock.isBreaking { leases.append(lock) }
                return leases.count < 2 && !left.isSpent
            }
        }
        guard isWhole, leases.count == 1, let process = leases[0].process else { return }
        let stat = ProcessStat.read(process)
        finding.holder = Wait.Holder(
            relation: .locks, process: process, thread: nil, name: Self.quotable(stat?.name ?? ""),
            state: stat.map(Self.state))
        finding.sources.append(source)
    }

    private func file(_ call: BlockedCall, _ path: Int8, _ directory: Int8, _ place: Place) -> Finding {
        guard path != WD_NO_ARGUMENT else { return Finding() }
        let folder = directory == WD_NO_ARGUMENT ? nil : call.integer(Int(directory))
        let address = call.arguments[Int(path)]
        guard let text = address == 0 ? "" : text(place.process, at: address) else { return Finding() }
        // With AT_EMPTY_PATH the descriptor is the file itself.
        guard !text.isEmpty else { return folder.map { openFile($0, place) } ?? Finding() }
        var finding = Finding(subject: text, sources: ["process_vm_readv(2), the path of the call"])
        if text.hasPrefix("/") {
            add(mountOf: text, to: &finding, place.process)
        } else if let folder, let link = SymbolicLink.target("/proc/\(place.process)/fd/\(folder)") {
            finding.subject += " in fd \(folder): \(link)"
            finding.sources.append("/proc/\(place.process)/fd/\(folder)")
            add(mountOf: "\(link)/\(text)", to: &finding, place.process)
        } else if let link = SymbolicLink.target("/proc/\(place.process)/cwd") {
            add(mountOf: "\(link)/\(text)", to: &finding, place.process)
        }
        return finding
    }

    /// A path in the memory of a process; nil if it cannot be read or does not end within 256 bytes.
    private func text(_ process: Int32, at address: UInt64) -> String? {
        // Up to the end of the page: the next one may not be mapped.
        let count = min(256, Int(4_096 - address % 4_096))
        guard let bytes = memory(process, at: address, count: count), let end = bytes.firstIndex(of: 0) else {
            return nil
        }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    // MARK: - Mount points

    private func add(mountOf path: String, to finding: inout Finding, _ process: Int32) {
        guard let mount = mount(of: path, process) else { return }
        finding.subject += " \(mount.text)"
        finding.sources.append(mount.source)
        finding.fileServer = finding.fileServer ?? mount.fileServer
    }

    /// `on nfs4 files:/export at /mnt`, if the path leads to a file system that another party serves: its silence is not the app's
    /// fault.
    ///
    /// The table is read without asking any file system.
    func mount(of path: String, _ process: Int32) -> (text: String, source: String, fileServer: UInt32?)? {
        let source = "/proc/\(process)/mountinfo"
        // What ".." leaves is known only to the file system.
        guard path.hasPrefix("/"), !path.split(separator: "/").contains(".."),
            let file = try? OwnedDescriptor(opening: source, flags: O_RDONLY)
        else { return nil }
        var found: MountPoint?
        var left = 256 << 10
        Procfs.forEachLine(file, limit: left) { line in
            // Of two mounts at one place, the later one covers the other.
            if let mount = MountPoint(parsing: line, leadingTo: path),
                mount.directory.utf8.count >= found?.directory.utf8.count ?? 0
            {
                found = mount
            }
            left = budget.isSpent ? 0 : left - line.count - 1
            return left > 0
        }
        // Part of the table may lack the nearest mount.
        guard left > 0, let found, found.isServed else { return nil }
        return ("on \(found.text)", source, found.isFUSE ? found.device : nil)
    }
}
