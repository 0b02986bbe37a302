// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// Reads what the kernel counts of many cgroups, one after another.
///
/// Cgroups of one directory are opened from there: the kernel would spend more time on their long paths than on counting.
public struct CgroupReader {
    private var parent: (path: Substring, directory: OwnedDescriptor?)?

    /// Creates a reader that has opened nothing.
    public init() {}

    /// The CPU time of all current and former processes of a cgroup by mode; nil when that cannot be read.
    ///
    /// Every cgroup2 has `cpu.stat`, with or without the controller.
    public mutating func cpuTimes(of cgroup: Cgroup) -> (user: Duration, system: Duration)? {
        guard let text = page("cpu.stat", of: cgroup) else { return nil }
        let numbers = KeyedNumbers(text)
        guard let user = numbers["user_usec"], let system = numbers["system_usec"] else { return nil }
        return (.microseconds(Int64(clamping: user)), .microseconds(Int64(clamping: system)))
    }

    /// The memory charged to a cgroup, in bytes; nil without the memory controller.
    public mutating func memory(of cgroup: Cgroup) -> Int? {
        page("memory.current", of: cgroup).flatMap { text in
            UInt64(decimal: text.prefix { $0 != UInt8(ascii: "\n") }).map { Int(clamping: $0) }
        }
    }

    private mutating func page(_ file: String, of cgroup: Cgroup) -> [UInt8]? {
        guard let slash = cgroup.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let path = cgroup.path[..<slash]
        if parent?.path != path {
            let flags = wd_open_path | O_DIRECTORY
            parent = (path, path.isEmpty ? nil : try? OwnedDescriptor(opening: String(path), flags: flags))
        }
        guard let directory = parent?.directory else { return Procfs.page("\(cgroup.path)/\(file)") }
        return Procfs.page("\(cgroup.path[slash...].dropFirst())/\(file)", in: directory)
    }
}

/// A file of `name number` lines, such as `cgroup.events` and `cpu.stat`.
struct KeyedNumbers {
    private let text: [UInt8]

    init(_ text: [UInt8]) {
        self.text = text
    }

    /// The number on the first line that begins with a name; nil if there is none.
    ///
    /// Few of a file's numbers are asked for, so they are looked up and not collected.
    subscript(name: StaticString) -> UInt64? {
        name.withUTF8Buffer { name in
            var line = text[...]
            while !line.isEmpty {
                let end = line.firstIndex(of: UInt8(ascii: "\n")) ?? line.endIndex
                let blank = line.startIndex + name.count
                if blank < end, line[blank] == UInt8(ascii: " "), line[..<blank].elementsEqual(name) {
                    return UInt64(decimal: line[(blank + 1)..<end])
                }
                line = line[end...].dropFirst()
            }
            return nil
        }
    }
}
