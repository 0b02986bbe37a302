// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogLinux

/// The files that are evicted from memory before each cold run.
struct FileEviction {
    /// The maximum number of files in one folder.
    private static let most = 100_000

    private var paths: Set<String> = []

    /// The result of an eviction.
    struct Result {
        /// The sizes of all files.
        var size: Int64 = 0
        /// The number of bytes that stayed in memory; nil if unknown for any file.
        var resident: Int64? = 0
    }

    /// Adds files that a program maps; without those of pseudo file systems.
    mutating func add(mapped: Set<String>) {
        paths.formUnion(mapped.filter { path in !["/dev/", "/proc/", "/sys/"].contains { path.hasPrefix($0) } })
    }

    /// Adds a file, or all files in a folder.
    mutating func add(_ path: String, option: String) throws(MeasuringError) {
        var isFolder: Bool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw .noInput("\(option) \(path): there is no such file or folder")
        }
        guard isFolder else {
            paths.insert(path)
            return
        }
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: path) else {
            throw .noInput("\(option) \(path): cannot list the folder")
        }
        guard names.count <= Self.most else {
            throw .noInput("\(option) \(path): has more than \(Self.most) files; name a smaller folder")
        }
        paths.formUnion(names.map { "\(path)/\($0)" })
    }

    /// Evicts the files; skips missing files and those that are not regular.
    func evict() -> Result {
        var result = Result()
        for path in paths {
            guard let rest = try? PageCache.evict(path) else { continue }
            result.size += rest.size
            result.resident = result.resident.flatMap { sum in rest.resident.map { sum + $0 } }
        }
        return result
    }
}
